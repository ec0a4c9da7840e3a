import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { json } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { tar } from '../archive/tar-file.ts'
import { noise } from '../edge/fixture.ts'
import { BASE, SecureService } from '../tls/secure-service.ts'
import { chunked, firstResponse, formatHead, LAST_CHUNK } from './body-routes.ts'

const BYTES = 200_000
const archive = tar([{ name: 'index.html', data: noise(BYTES) }])
const request = { method: 'POST', target: '/api/v1/publish', type: 'application/x-tar' } as const

let service: SecureService
before(async () => {
  service = await SecureService.start()
  await service.certify(BASE)
})
after(() => service[Symbol.asyncDispose]())

describe('an archive in chunks of 40 bytes is published', () => {
  test('over TLS', async () => {
    const socket = await service.handshake(BASE, { ALPNProtocols: ['http/1.1'] })
    const head = formatHead(request).replace('localhost', BASE)
    for (const part of [head, chunked(archive, 40), LAST_CHUNK]) socket.write(part)
    assert.match(await firstResponse(socket), /^HTTP\/1.1 201 /)
    socket.destroy()
  })

  test('over HTTP/2', async () => {
    const socket = await service.handshake(BASE, { ALPNProtocols: ['h2'] })
    const session = connect(`https://${BASE}`, { createConnection: () => socket })
    const stream = session.request({
      ':method': request.method,
      ':path': request.target,
      'content-type': request.type,
    })
    for (let at = 0; at < archive.length; at += 40) {
      // One write becomes one DATA frame.
      if (!stream.write(archive.subarray(at, at + 40))) await once(stream, 'drain')
      else if (at % 4000 === 0) await setImmediate()
    }
    stream.end()
    const [{ ':status': status }] = await once(stream, 'response')
    const answer = (await json(stream)) as { totalBytes?: number }
    session.destroy()
    assert.deepEqual([status, answer.totalBytes], [201, BYTES])
  })
})
