import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CredentialStore } from '../../client/cli/state/credentials.ts'
import { startForEachTest } from '../support/each-test.ts'
import { CliHarness } from './cli-harness.ts'
import { errorResponse, FakeServer } from './fake-server.ts'

/** A server that answers whatever it likes, and a user who is signed in there. */
async function startSignedIn() {
  const server = await FakeServer.start()
  const cli = new CliHarness()
  const credentials = new CredentialStore(`${cli.home}/.config/slipway/config.json`)
  credentials.remember(server.url, { key: server.key, email: 'ann@example.test' })
  return {
    server,
    cli,
    async [Symbol.asyncDispose]() {
      cli[Symbol.dispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

describe('a hostile server', () => {
  const fixture = startForEachTest(startSignedIn)

  it('gets an error reported whatever its details are', async () => {
    const { server, cli } = fixture
    const answers: [code: string, details: unknown][] = [
      ['VALIDATION_ERROR', [null, null]],
      ['VALIDATION_ERROR', [{ field: { toString: 1 } }]],
      ['QUOTA_EXCEEDED', {}],
      ['NOT_TRUSTED', { branch: 1 }],
      ['UPLOADS_MISSING', { missing: [{ toString: 1 }] }],
    ]
    for (const [code, details] of answers) {
      server.reply(/./, errorResponse(400, code, details) as [number, unknown])
      const { code: exitCode, stderr } = await cli.run(['whoami'])
      assert.notEqual(exitCode, 0)
      assert.match(stderr, new RegExp(`Error: The server says ${code}`))
    }
  })

  it('cannot use up the memory by a response without an end', async () => {
    const { server, cli } = fixture
    const piece = Buffer.alloc(1024 * 1024, '1')
    server.intercept = (_call, _request, response) => {
      const send = () => {
        while (!response.destroyed && response.write(piece));
      }
      response.on('drain', send)
      send()
      return true
    }
    const { code, stderr } = await cli.run(['whoami'])
    assert.deepEqual([code, /the response is too long/.test(stderr)], [5, true], stderr)
  })

  it('ends a list by a page that names no other one', async () => {
    fixture.server.reply(/./, [200, { publishes: [] }])
    assert.equal((await fixture.cli.run(['sites'])).code, 0)
    assert.equal(fixture.server.calls.length, 1)
  })
})
