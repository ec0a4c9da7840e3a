import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Api } from '../api/api.ts'
import { bodyRequests, chunked, firstResponse, formatHead, LAST_CHUNK, send } from './body-routes.ts'

let api: Api
before(async () => {
  api = await Api.start()
})
after(() => api[Symbol.asyncDispose]())

describe('a body in small chunks', () => {
  for (const size of [1, 40]) {
    test(`of ${size} bytes is read like any other`, async () => {
      for (const request of await bodyRequests(api)) {
        // A body with more chunks is refused.
        const bytes = Math.max(size, Math.ceil(request.body.length / 10_000))
        const socket = await send(api.port, formatHead(request), chunked(request.body, bytes), LAST_CHUNK)
        const answer = await firstResponse(socket)
        socket.destroy()
        assert.match(answer, new RegExp(`^HTTP/1.1 ${request.status} `), `${request.name}: ${answer}`)
      }
    })
  }

  test('of one byte each is refused and its connection closed above the limit of chunks', async () => {
    for (const request of await bodyRequests(api)) {
      const socket = await send(api.port, formatHead(request), chunked(Buffer.alloc(20_000, ' '), 1))
      const answer = await firstResponse(socket)
      assert.match(answer, /^(HTTP\/1.1 4\d\d |$)/, `${request.name}: ${answer}`)
      if (!socket.closed) await new Promise((resolve) => socket.resume().once('close', resolve))
    }
  })
})
