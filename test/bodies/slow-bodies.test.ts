import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { Api } from '../api/api.ts'
import { type BodyRequest, bodyRequests, chunked, firstResponse, formatHead, send } from './body-routes.ts'

let api: Api
let [silent, stopped]: [BodyRequest[], BodyRequest[]] = [[], []]
before(async () => {
  api = await Api.start()
  // A second upload of a file would abort the first, so that each case has files of its own.
  silent = await bodyRequests(api)
  stopped = await bodyRequests(api)
})
after(() => api[Symbol.asyncDispose]())

describe('a client that sends', () => {
  test('no body or half of it gets a 408 after 30 seconds, and its connection is closed', async () => {
    using _ = clockAtSpeed(100)
    const slow = [
      ...silent.map((request) => ({ request, sent: '' })),
      ...stopped.map((request) => ({
        request,
        sent: chunked(request.body.subarray(0, request.body.length / 2), 1000),
      })),
    ]
    await Promise.all(
      slow.map(async ({ request, sent }) => {
        const socket = await send(api.port, formatHead(request), sent)
        const answer = await firstResponse(socket)
        assert.match(answer, /^HTTP\/1.1 408 .*\r\nConnection: close\r\n/is, `${request.name}: ${answer}`)
        assert.match(answer, /"code":"REQUEST_TIMEOUT"/, request.name)
        if (!socket.closed) await once(socket.resume(), 'close')
      }),
    )
  })
})

/** Makes the clock of the service run faster until dispose. */
function clockAtSpeed(factor: number): Disposable {
  const timer = setInterval(() => api.pass(10 * factor), 10)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
