import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Api } from '../api/api.ts'
import { bodyRequests, chunked, firstAnswer, headOf, LAST_CHUNK, send } from './body-routes.ts'

let api: Api
before(async () => {
  api = await Api.start()
})
after(() => api[Symbol.asyncDispose]())

describe('a body in small chunks', () => {
  for (const size of [1, 40]) {
    test(`of ${size} bytes is read like any other`, async () => {
      for (const request of await bodyRequests(api)) {
        // More chunks than these are refused.
        const bytes = Math.max(size, Math.ceil(request.body.length / 10_000))
        const socket = await send(api.port, headOf(request), chunked(request.body, bytes), LAST_CHUNK)
        const answer = await firstAnswer(socket)
        socket.destroy()
        assert.match(answer, new RegExp(`^HTTP/1.1 ${request.status} `), `${request.name}: ${answer}`)
      }
    })
  }

  test('of one byte is refused and its connection ends, once it has more of them than a client needs', async () => {
    for (const request of await bodyRequests(api)) {
      const socket = await send(api.port, headOf(request), chunked(Buffer.alloc(20_000, ' '), 1))
      const answer = await firstAnswer(socket)
      assert.match(answer, /^(HTTP\/1.1 4\d\d |$)/, `${request.name}: ${answer}`)
      if (!socket.closed) await new Promise((resolve) => socket.resume().once('close', resolve))
    }
  })
})
