import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { oauthIdHash } from '../../server/accounts/oauth/oauth-records.ts'
import { HOUR_MS } from '../../server/lib/time.ts'
import { type Account, Api, DAY_MS } from '../api/api.ts'
import { Program, REDIRECT_URI, register } from './program.ts'

const uris = (count: number, length: number) =>
  Array.from({ length: count }, (_, index) => `https://chat.example/${index}/`.padEnd(length, 'a'))

describe('the registration of a program', () => {
  let api: Api
  let account: Account
  before(async () => {
    const OAUTH_CLIENTS =
      'TV=https://tv.example/client.json https://tv.example/cb,My Zed=https://zed.dev/oauth/client-metadata.json https://zed.example/cb'
    api = await Api.start({ OAUTH_CLIENTS })
    // The library reads the time of the machine.
    api.clock.now = Date.now()
    account = await api.account()
  })
  after(() => api[Symbol.asyncDispose]())

  test('makes a public program, whatever it asks for, and is bounded for each network', async () => {
    const metadata = {
      redirect_uris: ['https://chat.example/callback'],
      token_endpoint_auth_method: 'client_secret_post',
      jwks_uri: 'http://169.254.169.254/',
      sector_identifier_uri: 'https://169.254.169.254/',
    }
    for (const query of ['', '?a']) {
      const response = await register(api.baseUrl, metadata, query)
      const client = (await response.json()) as Record<string, unknown>
      assert.deepEqual(
        [response.status, client.token_endpoint_auth_method, client.client_secret, client.jwks_uri],
        [201, 'none', undefined, undefined],
      )
    }
    const largest = await register(api.baseUrl, {
      redirect_uris: uris(10, 512),
      client_name: 'n'.repeat(9000),
      grant_types: Array(99).fill('authorization_code'),
    })
    const stored = (await largest.json()) as Record<string, string>
    assert.deepEqual([largest.status, stored.client_name?.length, stored.grant_types?.length], [201, 64, 1])
    const { store } = await api.operator()
    const findLargest = (after: number) =>
      store.read.oauth.find(oauthIdHash('Client', stored.client_id!), api.clock.now + after)
    assert.deepEqual([(await findLargest(HOUR_MS))?.kind, await findLargest(DAY_MS)], ['Client', undefined])
    await using limited = await Api.start({ RATE_SIGN_IN: '3' })
    const statuses = []
    for (let count = 0; count < 4; count++)
      statuses.push((await register(limited.baseUrl, { redirect_uris: [REDIRECT_URI] })).status)
    assert.deepEqual(statuses, [201, 201, 201, 429])
  })

  const REDIRECT_URIS: [uris: unknown, status: number][] = [
    [undefined, 400],
    [[], 400],
    ['https://chat.example/callback', 400],
    [[1], 400],
    [uris(11, 100), 400],
    [uris(1, 513), 400],
    [['http://chat.example/callback'], 400],
    [['https://chat.example/callback#a'], 400],
    [['https://user@chat.example/callback'], 400],
    [['https://chat.example/?error=a&error_description=Your+account+is+locked'], 400],
    [['https://chat.example/?a=b&error_description=c'], 400],
    [['https://chat.example/?a=b'], 201],
    [['urn:ietf:wg:oauth:2.0:oob'], 400],
    [['javascript:alert(1)'], 400],
    [['javascript://chat.example/%0aalert(1)'], 400],
    [['data:text/html,x'], 400],
    [['https://localhost:3000/cb'], 201],
    [['https://[::1]:3000/cb', 'http://127.0.0.1/cb', 'https://chat.example/cb'], 201],
    [['cursor://anysphere.cursor-retrieval/oauth/callback', 'https://chat.example/cb'], 201],
    [['https://chat.example/\r\nSet-Cookie: a=b'], 400],
    [[' http://127.0.0.1/cb'], 400],
    [['https://chat.example/\u202egpj'], 400],
    [['com.example.app:/callback'], 201],
    [['cursor://a/callback', 'https://localhost/cb', 'http://127.0.0.1/cb'], 201],
  ]

  test('has redirect URIs to which a browser can return, and an error says which do not', async () => {
    for (const [redirect_uris, status] of REDIRECT_URIS) {
      const response = await register(api.baseUrl, { redirect_uris })
      const { error, error_description: text } = (await response.json()) as Record<string, string>
      assert.equal(response.status, status, `${redirect_uris}: ${text}`)
      if (status === 400) assert.match(`${error}: ${text}`, /^invalid_redirect_uri: redirect_uris /)
    }
    for (const body of ['', '[]', 'null', '1']) assert.equal((await register(api.baseUrl, body)).status, 400)
  })

  test('gives the program a name that shows and changes nothing around it, whatever name it has', async () => {
    for (const [client_name, name] of [
      [undefined, 'Unnamed program'],
      ['', 'Unnamed program'],
      [{ a: 'b' }, 'Unnamed program'],
      ['\u3164\u200b \u2800', 'Unnamed program'],
      ['a\u0000b\r\nc\u202e', 'ab c'],
      [`${'x'.repeat(63)}😀y`, `${'x'.repeat(63)}😀`],
      ['a\ud83d', 'a\ufffd'],
      [`e${'\u0301'.repeat(50)}a`, `e${'\u0301'.repeat(4)}a`],
    ]) {
      const own = await Program.register(api.baseUrl, { client_name })
      const { id, cookie } = await own.begin()
      const path = `/api/v1/authorizations/${id}`
      const { json } = await api.request('GET', path, { key: account.key, headers: { cookie } })
      assert.equal(json.program, name)
      const device = await fetch(`${api.baseUrl}/oauth/device_authorization`, {
        method: 'POST',
        body: new URLSearchParams({ client_id: own.clientId }),
      })
      assert.equal(device.status, 200)
    }
  })

  test('gets the grant types, response types and method that exist in place of others', async () => {
    const response = await register(api.baseUrl, {
      redirect_uris: ['https://localhost:3000/cb'],
      grant_types: ['authorization_code', 'refresh_token', 'implicit', 'client_credentials'],
      response_types: ['code', 'token', 'code id_token'],
      token_endpoint_auth_method: 'private_key_jwt',
      client_name: '',
    })
    const client = (await response.json()) as Record<string, unknown>
    assert.deepEqual(
      [response.status, client.grant_types, client.response_types, client.token_endpoint_auth_method],
      [201, ['authorization_code', 'refresh_token'], ['code'], 'none'],
    )
  })

  test('has redirect URIs on a loopback address whose port may differ, and no other part', async () => {
    const registered = ['http://127.0.0.1:1/cb', 'http://localhost/cb', 'https://localhost:1/cb']
    const own = await Program.register(api.baseUrl, { redirect_uris: registered })
    for (const redirect_uri of ['http://127.0.0.1:2/cb', 'http://127.0.0.1/cb', 'http://localhost:2/cb'])
      assert.ok((await own.begin({ redirect_uri })).id)
    for (const redirect_uri of ['http://127.0.0.1:2/', 'http://[::1]:1/cb', 'https://localhost:2/cb'])
      await assert.rejects(own.begin({ redirect_uri }), /did not match/)
  })

  test('is not needed by a program on the list of the service, which is known by the URL of its document, which nothing fetches', async () => {
    const KNOWN: [url: string, name: string, redirectUri: string][] = [
      ['https://vscode.dev/oauth/client-metadata.json', 'Visual Studio Code', 'http://127.0.0.1:5/'],
      ['https://claude.ai/oauth/claude-code-client-metadata', 'Claude Code', 'http://localhost:5/callback'],
      ['https://tv.example/client.json', 'TV', 'https://tv.example/cb'],
      ['https://zed.dev/oauth/client-metadata.json', 'My Zed', 'https://zed.example/cb'],
    ]
    const own = await api.account()
    const program = await Program.register(api.baseUrl)
    for (const [client_id, name, redirect_uri] of KNOWN) {
      const code = await program.code(own.key, { client_id, redirect_uri })
      const tokens = await program.exchange(code, { client_id, redirect_uri })
      assert.equal(tokens.status, 200)
      assert.equal((await own.client.programs()).programs[0]!.program, name)
    }
    for (const [client_id, redirect_uri] of [
      ['https://vscode.dev/oauth/other.json', 'http://127.0.0.1:5/'],
      ['https://vscode.dev/oauth/client-metadata.json', 'https://evil.example/'],
    ]) {
      const response = await fetch(program.authorizationUrl({ client_id, redirect_uri }), {
        redirect: 'manual',
      })
      assert.deepEqual([response.status, response.headers.get('location')], [400, null])
    }
  })
})
