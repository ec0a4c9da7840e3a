import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { IssuerKeys } from '../../server/accounts/trusts/id-tokens.ts'
import { silentLog } from '../support/silent-log.ts'
import { MIB } from '../support/units.ts'
import { OidcIssuer } from '../tools/oidc-issuer.ts'

const FIRST = { alg: 'RS256', kid: 'first' }

describe('the keys of an issuer', () => {
  const faults: [name: string, fault: (response: ServerResponse, url: string) => void, reason: RegExp][] = [
    ['50 MB', (response) => sendLarge(response), /more than 262144 bytes/],
    ['a redirect', (response) => response.writeHead(302, { location: '/keys' }).end(), /fetch failed/],
    ['another issuer', (response) => response.end('{"issuer":"https://issuer.example"}'), /another issuer/],
    [
      'keys of another origin',
      (response, url) => response.end(JSON.stringify({ issuer: url, jwks_uri: 'http://127.0.0.1:1/keys' })),
      /another origin/,
    ],
    ['text', (response) => response.end('hello'), /JSON/],
  ]

  test('are refused when it answers with anything but a small document of its own', async () => {
    await using issuer = await OidcIssuer.start()
    for (const [name, fault, reason] of faults) {
      issuer.fault = (response) => fault(response, issuer.url)
      const keys = new IssuerKeys({ issuer: issuer.url, clock: () => 0, log: silentLog })
      await assert.rejects(
        async () => keys.find(FIRST, {} as never),
        (error: Error) => {
          assert.match(String(error.cause), reason, name)
          return true
        },
      )
    }
  })

  test('are given up when it does not answer in time', async () => {
    await using issuer = await OidcIssuer.start()
    const { promise: asked, resolve } = Promise.withResolvers<void>()
    issuer.fault = () => resolve()
    const timeout = new AbortController()
    const keys = new IssuerKeys({
      ...{ issuer: issuer.url, clock: () => 0, log: silentLog },
      timeout: () => timeout.signal,
    })
    const found = assert.rejects(async () => keys.find(FIRST, {} as never), { code: 'UNAVAILABLE' })
    await asked
    timeout.abort()
    await found
  })
})

/** Writes until the client disconnects. */
async function sendLarge(response: ServerResponse): Promise<void> {
  const closed = once(response, 'close')
  for (let sent = 0; sent < 50 && !response.destroyed; sent++)
    if (!response.write(Buffer.alloc(MIB, ' '))) await Promise.race([once(response, 'drain'), closed])
  response.end()
}
