import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { Api } from '../api/api.ts'
import { type BodyRequest, bodyRequests, chunked, firstAnswer, headOf, send } from './body-routes.ts'

let api: Api
let [silent, stopped]: [BodyRequest[], BodyRequest[]] = [[], []]
before(async () => {
  api = await Api.start()
  // A second upload of one file would end the first, so each case has files of its own.
  silent = await bodyRequests(api)
  stopped = await bodyRequests(api)
})
after(() => api[Symbol.asyncDispose]())

describe('a client that sends', () => {
  test('nothing of a body, or stops in the middle, is told so after 30 seconds and its connection ends', async () => {
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
        const socket = await send(api.port, headOf(request), sent)
        const answer = await firstAnswer(socket)
        assert.match(answer, /^HTTP\/1.1 408 .*\r\nConnection: close\r\n/is, `${request.name}: ${answer}`)
        assert.match(answer, /"code":"REQUEST_TIMEOUT"/, request.name)
        if (!socket.closed) await once(socket.resume(), 'close')
      }),
    )
  })
})

/** Lets the service's time pass faster, until it is disposed. */
function clockAtSpeed(factor: number): Disposable {
  const timer = setInterval(() => api.pass(10 * factor), 10)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
