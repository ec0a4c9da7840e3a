import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startForEachTest } from '../support/started-fixture.ts'
import { KEY, startScriptedCli } from './scripted-cli.ts'

const keyed = { env: { SLIPWAY_KEY: KEY } }

describe('keys', () => {
  const named = {
    ...{ id: '0123456789abcdef', name: 'ci', scope: 'publish', sites: ['bakery', 'cafe'], current: false },
    ...{ createdAt: '2030-01-01T00:00:00.000Z', expiresAt: '2030-03-31T22:00:00.000Z', lastUsedAt: null },
  }
  const fixture = startForEachTest(() =>
    startScriptedCli({
      'GET /api/v1/me/keys': { keys: [named] },
      'POST /api/v1/me/keys': { ...named, apiKey: KEY, warning: '' },
      'DELETE /api/v1/me/keys/0123456789abcdef': { id: named.id, revoked: true },
    }),
  )

  it('lists the keys with what they permit', async () => {
    const { stdout } = await fixture.cli.run(['keys'], keyed)
    assert.match(stdout, /0123456789abcdef +ci +publish +bakery, cafe +never +1 Apr, 00:00/)
    const { stdout: json } = await fixture.cli.run(['keys', 'list', '--json'], keyed)
    assert.deepEqual(JSON.parse(json), { keys: [named] })
  })

  it('creates a key and prints only the key on stdout', async () => {
    const options = ['--scope', 'publish', '--site', 'bakery,cafe', '--expires', '90d']
    const { code, stdout, stderr } = await fixture.cli.run(['keys', 'create', 'ci', ...options], keyed)
    assert.equal(code, 0, stderr)
    assert.equal(stdout, `${KEY}\n`)
    assert.deepEqual(fixture.bodies().at(-1), {
      ...{ name: 'ci', scope: 'publish', sites: ['bakery', 'cafe'], expiresInSeconds: 90 * 86_400 },
    })
    for (const wrong of [
      [],
      ['ci'],
      ['ci', '--scope', 'all'],
      ['ci', '--scope', 'read', '--expires', 'soon'],
      ['ci', '--scope', 'read', '--expires', '5'],
    ])
      assert.equal((await fixture.cli.run(['keys', 'create', ...wrong], keyed)).code, 2, wrong.join(' '))
  })

  it('revokes a key by its name or id, and says when there is none', async () => {
    for (const name of ['ci', named.id]) {
      assert.equal((await fixture.cli.run(['keys', 'revoke', name], keyed)).code, 0)
      assert.equal(fixture.server.log.at(-1), `DELETE /api/v1/me/keys/${named.id}`)
    }
    const { code, stderr } = await fixture.cli.run(['keys', 'revoke', 'laptop'], keyed)
    assert.equal(code, 2)
    assert.match(stderr, /no key with the name laptop/)
  })
})
