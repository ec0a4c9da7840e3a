import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Api } from '../api/api.ts'
import { chunked, firstResponse, send } from './body-routes.ts'

let api: Api
before(async () => {
  api = await Api.start()
})
after(() => api[Symbol.asyncDispose]())

/** Requests outside of the API that match no route, and their responses. */
const refusals: [method: string, target: string, status: number, allow: string | undefined][] = [
  ['POST', '/stuff', 404, undefined],
  ['PUT', '/stuff', 404, undefined],
  ['DELETE', '/stuff', 404, undefined],
  ['PROPFIND', '/stuff', 404, undefined],
  ['QUERY', '/stuff', 404, undefined],
  ['POST', '/api', 404, undefined],
  ['POST', '/faviconXsvg', 404, undefined],
  ['POST', '/', 405, 'GET, HEAD'],
  ['DELETE', '/docs', 405, 'GET, HEAD'],
  ['PATCH', '/favicon.svg', 405, 'GET, HEAD'],
  ['POST', '/health?x', 405, 'GET, HEAD'],
  ['POST', '/assets/a.js', 405, 'GET, HEAD'],
  ['PUT', '/_reports/csp', 405, 'POST'],
  ['OPTIONS', '/', 405, 'GET, HEAD'],
]

describe('a request that matches no route is answered before its body arrives', () => {
  for (const [method, target, status, allow] of refusals) {
    test(`${method} ${target}`, async () => {
      for (const type of ['application/json', 'text/plain']) {
        const head = `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\n`
        const socket = await send(api.port, `${head}Content-Length: 2000000\r\n\r\n{`)
        const answer = await firstResponse(socket)
        socket.destroy()
        assert.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
        assert.equal(/^allow: (.*)\r$/im.exec(answer)?.[1], allow)
      }
    })
  }
})

describe('invalid requests are never logged as errors of the service', () => {
  const bodies = ['', '{bad', '{"__proto__":{}}', '{"constructor":{"prototype":{}}}', '\0', '"\ud800"', '[1,']
  const types = ['application/json', 'application/json; charset=x', 'text/plain', '/', ';', '']
  for (const target of [
    '/stuff',
    '/',
    '/docs',
    '/_reports/csp',
    '/api/v1/publish',
    '/api/v1/publish/x/finalize',
  ]) {
    test(`whatever the body of a request for ${target} is`, async () => {
      for (const method of ['POST', 'DELETE', 'QUERY']) {
        for (const body of bodies) {
          const answers = types.map(async (type) => {
            const head = `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`
            const socket = await send(api.port, head, chunked(Buffer.from(body), 100), '0\r\n\r\n')
            const answer = await firstResponse(socket)
            socket.destroy()
            assert.match(answer, /^HTTP\/1.1 [24]\d\d /, `${method} ${type} ${body}`)
          })
          await Promise.all(answers)
        }
      }
      assert.deepEqual(
        api.running.log.filter(({ level }) => level === 'error'),
        [],
      )
    })
  }
})
