import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { DEVICE_GRANT_TYPE } from '../../protocol/api/device.ts'
import { oauthAdapter, oauthIdHash, RefreshTokens } from '../../server/accounts/oauth/oauth-records.ts'
import { DAY_SECONDS, HOUR_MS } from '../../server/lib/time.ts'
import { type Account, Api, DAY_MS, expectFailure, MINUTE_MS } from '../api/api.ts'
import { listen } from '../support/listen.ts'
import { pausedBody } from '../support/paused-body.ts'
import { waitFor } from '../support/wait-for.ts'
import { Agent, callOf, postMessage } from './agent.ts'
import { Program, REDIRECT_URI, type Tokens } from './program.ts'

const SECRET = 'a secret that the nodes have in common'

/** Of the storage alone. */
const STORAGE = {
  refreshTokens: new RefreshTokens({ secret: SECRET }),
  invalidGrant: () => new Error('used before'),
}

describe('the authorization of programs', () => {
  let api: Api
  let account: Account
  let program: Program
  before(async () => {
    api = await Api.start({ SECRET })
    // The library reads the time of the machine.
    api.clock.now = Date.now()
    account = await api.account()
    program = await Program.register(api.baseUrl)
  })
  after(() => api[Symbol.asyncDispose]())

  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const statusOf = async (token: string, path?: string) =>
    (await postMessage(api.baseUrl, callOf('list_sites'), { path, headers: bearer(token) })).status

  test('is found from the refusal of a call', async () => {
    const refused = await postMessage(api.baseUrl, callOf('list_sites'))
    const [, url] = /resource_metadata="(.+?)"/.exec(refused.headers.get('www-authenticate')!)!
    const resource = (await (await fetch(url!)).json()) as Record<string, unknown>
    assert.deepEqual(
      [resource.resource, resource.authorization_servers],
      [`${api.baseUrl}/mcp`, [api.baseUrl]],
    )
    const metadata = await fetch(`${api.baseUrl}/.well-known/oauth-authorization-server`, {
      headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' },
    })
    assert.deepEqual(await metadata.json(), {
      issuer: api.baseUrl,
      authorization_endpoint: `${api.baseUrl}/oauth/authorize`,
      token_endpoint: `${api.baseUrl}/oauth/token`,
      registration_endpoint: `${api.baseUrl}/oauth/register`,
      revocation_endpoint: `${api.baseUrl}/oauth/revoke`,
      scopes_supported: ['read', 'publish', 'manage'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      device_authorization_endpoint: `${api.baseUrl}/oauth/device_authorization`,
      grant_types_supported: ['authorization_code', 'refresh_token', DEVICE_GRANT_TYPE],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
      service_documentation: `${api.baseUrl}/docs/agents`,
    })
  })

  test('is for the resource by each of its names, which have metadata of their own', async () => {
    for (const path of ['', '/mcp', '/mcp/', '/mcp/account']) {
      const metadata = await fetch(`${api.baseUrl}/.well-known/oauth-protected-resource${path}`)
      assert.equal(((await metadata.json()) as Record<string, string>).resource, api.baseUrl + path)
    }
    const names = ['', '/', '/mcp', '/mcp/', '/mcp/account'].map((path) => api.baseUrl + path)
    for (const resource of [...names, `${api.baseUrl.toUpperCase()}/mcp`]) {
      const response = await program.exchange(await program.code(account.key, { resource }), { resource })
      const { access_token, refresh_token } = (await response.json()) as Tokens
      const next = await program.requestToken({ grant_type: 'refresh_token', refresh_token, resource })
      for (const token of [access_token, ((await next.json()) as Tokens).access_token])
        for (const path of ['/mcp', '/mcp/account']) assert.equal(await statusOf(token, path), 200, resource)
    }
  })

  test('gives a token for the tools, and for nothing else', async () => {
    const { access_token: token, scope, expires_in } = await program.tokens(account.key)
    assert.deepEqual([scope, expires_in], ['read publish manage', 3600])
    const { status } = await fetch(`${api.baseUrl}/api/v1/me`, { headers: bearer(token) })
    assert.deepEqual([await statusOf(token), status], [200, 401])
    await using agent = await Agent.connect(api.baseUrl, { key: token })
    const { slug } = await agent.call('publish_site', { files: [{ path: 'index.html', content: 'x' }] })
    assert.equal((await account.client.details(slug)).role, 'owner')
  })

  test('a refusal says what to ask for, also to a program that is a page of another origin', async () => {
    const { access_token: token } = await program.tokens(account.key, { scope: 'read' })
    const { slug } = await api.publish(account.client, { 'index.html': 'x' })
    const REFUSED: [
      token: string | undefined,
      tool: string | undefined,
      status: number,
      parameters: string,
    ][] = [
      [undefined, undefined, 401, 'scope="read publish"'],
      [undefined, 'list_sites', 401, 'scope="read"'],
      [undefined, 'delete_site', 401, 'scope="read publish manage"'],
      ['invalid', 'list_sites', 401, 'error="invalid_token", scope="read publish"'],
      ['sl_live_invalid', undefined, 401, 'error="invalid_token", scope="read publish"'],
      [token, 'update_files', 403, 'error="insufficient_scope", scope="read publish"'],
      [token, 'delete_site', 403, 'error="insufficient_scope", scope="read publish manage"'],
      [token, 'delete_preview', 403, 'error="insufficient_scope", scope="read publish"'],
    ]
    for (const [key, tool, status, parameters] of REFUSED) {
      const path = tool === undefined ? '/mcp/account' : '/mcp'
      const args = {
        slug,
        ...(tool === 'update_files' ? { delete: ['index.html'] } : {}),
        ...(tool === 'delete_preview' ? { preview: 'x' } : {}),
      }
      const message =
        tool === undefined
          ? { jsonrpc: '2.0', id: 1, method: 'ping' }
          : callOf(tool, tool === 'list_sites' ? {} : args)
      const headers = { origin: 'http://localhost:1', ...(key !== undefined && bearer(key)) }
      const response = await postMessage(api.baseUrl, message, { path, headers })
      const metadata = `resource_metadata="${api.baseUrl}/.well-known/oauth-protected-resource${path}"`
      assert.deepEqual(
        [response.status, response.headers.get('www-authenticate')],
        [status, `Bearer ${parameters}, ${metadata}`],
        `${key} ${tool}`,
      )
      assert.match(response.headers.get('access-control-expose-headers')!, /(^|, )WWW-Authenticate(,|$)/)
    }
  })

  test('the list of the tools names the scope that each one needs', async () => {
    const { tokens, slug } = {
      tokens: await Promise.all(
        ['read', 'publish', 'manage'].map(
          async (scope) => [scope, await program.tokens(account.key, { scope })] as const,
        ),
      ),
      slug: (await api.publish(account.client, { 'index.html': 'x' })).slug,
    }
    const known: Record<string, unknown> = {
      slug,
      versionId: 'x',
      preview: 'x',
      path: 'index.html',
      domain: 'a.example',
    }
    await using lister = await Agent.connect(api.baseUrl)
    const { tools } = await lister.client.listTools()
    for (const { name, inputSchema, _meta } of tools) {
      const schemes = (_meta as { securitySchemes: { type: string; scopes?: string[] }[] }).securitySchemes
      const needed = schemes.find(({ type }) => type === 'oauth2')!.scopes![0]!
      const {
        required = [],
        properties = {},
        minProperties = 0,
      } = inputSchema as {
        required?: string[]
        properties?: object
        minProperties?: number
      }
      const fields = new Set([...required, ...Object.keys(properties).slice(0, minProperties)])
      const args = Object.fromEntries([...fields].map((field) => [field, known[field] ?? 'x']))
      const isRefused = await Promise.all(
        tokens.map(async ([, { access_token: key }]) => {
          // Without a token for it, nothing of the arguments is examined but their form.
          const response = await postMessage(api.baseUrl, callOf(name, args), { headers: bearer(key) })
          return response.status === 403
        }),
      )
      const scopes = tokens.map(([scope]) => scope)
      const expected = scopes.map((scope) => scopes.indexOf(scope) < scopes.indexOf(needed))
      if (name !== 'delete_site') assert.deepEqual(isRefused, expected, name)
    }
  })

  test('a code is used once: a second use ends the access', async () => {
    const code = await program.code(account.key)
    const { access_token: token } = (await (await program.exchange(code)).json()) as Tokens
    assert.equal(await statusOf(token), 200)
    assert.equal((await program.exchange(code)).status, 400)
    assert.equal(await statusOf(token), 401)
  })

  test('a stored code is used once, also at the same time, which ends the access; and a stored token is accepted for its resource and until the access ends', async () => {
    const { store } = await api.operator()
    const adapter = (kind: string) => oauthAdapter(kind, { ...STORAGE, store, clock: () => api.clock.now })
    const { id: accountId } = (await store.read.accounts.byEmail(account.email))!
    await adapter('Grant').upsert('twice', { accountId })
    await adapter('AuthorizationCode').upsert('code', { accountId, grantId: 'twice' }, 60)
    const uses = await Promise.allSettled([1, 2, 3].map(() => adapter('AuthorizationCode').consume('code')))
    assert.deepEqual(uses.map(({ status }) => status).sort(), ['fulfilled', 'rejected', 'rejected'])
    assert.equal(await adapter('Grant').find('twice'), undefined)
    await assert.rejects(adapter('AuthorizationCode').consume('code'), /used before/)
    await adapter('RefreshToken').upsert('used', { accountId }, 30 * DAY_SECONDS)
    await adapter('RefreshToken').consume('used')
    const findUsed = (after: number) =>
      store.read.oauth.find(oauthIdHash('RefreshToken', 'used'), api.clock.now + after)
    assert.deepEqual(
      [(await findUsed(HOUR_MS))?.kind, await findUsed(2 * HOUR_MS)],
      ['RefreshToken', undefined],
    )
    await adapter('Grant').upsert('grant', { accountId }, 60)
    for (const [token, aud, status] of [
      ['ours', `${api.baseUrl}/mcp`, 200],
      // As a random token may begin.
      ['sl_live_ours', `${api.baseUrl}/mcp`, 200],
      ['theirs', 'https://other.example/mcp', 401],
    ] as const) {
      await adapter('AccessToken').upsert(token, { accountId, aud, scope: 'manage', grantId: 'grant' }, 60)
      assert.equal(await statusOf(token), status)
    }
    // A request for a token can read the grant before it ends, and save the token afterwards.
    await adapter('AccessToken').revokeByGrantId('grant')
    await adapter('AccessToken').upsert(
      'late',
      { accountId, aud: `${api.baseUrl}/mcp`, scope: 'manage', grantId: 'grant' },
      60,
    )
    assert.equal(await statusOf('late'), 401)
  })

  test('a message whose body arrives after the end of the access changes nothing', async () => {
    const { access_token: token } = await program.tokens(account.key)
    const { read } = (await api.operator()).store
    const { id } = (await read.accounts.byEmail(account.email))!
    const hour = Math.floor(api.clock.now / HOUR_MS) * HOUR_MS
    const messages = () => read.counters.value(`message:account:${id}`, hour)
    const call = { name: 'publish_site', arguments: { files: [{ path: 'index.html', content: 'late' }] } }
    const message = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }))
    const { body, resume } = pausedBody(message.subarray(0, 9), message.subarray(9))
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const before = await messages()
    const late = api.request('POST', '/mcp', { headers, body })
    await waitFor(async () => (await messages()) > before)
    const [newest] = (await account.client.programs()).programs
    await account.client.revokeProgram(newest!.id)
    const sites = await account.client.list()
    api.clock.now += 1000
    resume()
    const { status, headers: answer } = await late
    assert.deepEqual([status, /error="invalid_token"/.test(answer['www-authenticate']!)], [401, true])
    assert.deepEqual(await account.client.list(), sites)
  })

  const refreshed = async (program: Program, token: string) =>
    (await (await program.refresh(token)).json()) as Tokens

  test('a refresh token is replaced by each use, and gives the same one again for a minute, on every node', async () => {
    await using node = await startNode(api)
    const { refresh_token: first } = await program.tokens(account.key)
    const elsewhere = program.at(node.url)
    const [one, other] = await Promise.all([refreshed(program, first), refreshed(elsewhere, first)])
    assert.notEqual(one.refresh_token, first)
    api.clock.now += MINUTE_MS - 1
    const repeated = await refreshed(program, first)
    api.clock.now -= MINUTE_MS - 1
    for (const { refresh_token, access_token } of [one, other, repeated])
      assert.deepEqual([refresh_token, await statusOf(access_token)], [one.refresh_token, 200])
    // Each of two windows continues with what it has.
    const next = await refreshed(program, one.refresh_token)
    assert.equal((await refreshed(elsewhere, first)).refresh_token, one.refresh_token)
    assert.equal((await refreshed(elsewhere, other.refresh_token)).refresh_token, next.refresh_token)
    assert.equal(await statusOf(next.access_token), 200)
  })

  test('a refresh token is accepted for 30 days', async () => {
    for (const [days, status] of [
      [29.9, 200],
      [30.1, 400],
    ] as const) {
      const { refresh_token: token } = await program.tokens(account.key)
      api.clock.now += days * DAY_MS
      assert.equal((await program.refresh(token)).status, status, `${days} days`)
      api.clock.now -= days * DAY_MS
    }
  })

  for (const [when, late, uses] of [
    ['a minute', MINUTE_MS, 1],
    ['days, when it is not stored any more', 20 * DAY_MS, 65],
  ] as const)
    test(`a refresh token that is used again after ${when} ends the access`, async () => {
      const { refresh_token: first } = await program.tokens(account.key)
      let last: Tokens = await refreshed(program, first)
      for (let count = 1; count < uses; count++) last = await refreshed(program, last.refresh_token)
      api.clock.now += late
      assert.equal((await program.refresh(first)).status, 400)
      api.clock.now -= late
      assert.equal(await statusOf(last.access_token), 401)
      assert.equal((await program.refresh(last.refresh_token)).status, 400)
    })

  test('a refresh token that the service has not made ends no access', async () => {
    const tokens = await program.tokens(account.key)
    const others = await program.tokens(account.key)
    const forged = tokens.refresh_token.slice(0, 43) + others.refresh_token.slice(43)
    for (const token of [forged, `${tokens.refresh_token}a`, tokens.refresh_token.slice(0, 128), ''])
      assert.equal((await program.refresh(token)).status, 400)
    assert.equal(await statusOf(tokens.access_token), 200)
  })

  test('requests for tokens count as requests of the account, and a refused one can be repeated', async () => {
    await using limited = await Api.start({ RATE_FREE: '4' })
    limited.clock.now = Date.now()
    const { key } = await limited.account()
    const own = await Program.register(limited.baseUrl)
    // The decision of the user and the exchange of the code are the first two.
    let { refresh_token: token } = await own.tokens(key)
    for (const status of [200, 200, 429]) {
      const response = await own.refresh(token)
      assert.equal(response.status, status)
      if (status === 200) token = ((await response.json()) as Tokens).refresh_token
    }
    limited.clock.now += HOUR_MS
    assert.equal((await own.refresh(token)).status, 200)
  })

  test('a request that is not exactly as registered gets nothing', async () => {
    const toNowhere: Record<string, string | undefined>[] = [
      { redirect_uri: `${REDIRECT_URI}/` },
      { redirect_uri: `${REDIRECT_URI}?a=b` },
      { redirect_uri: REDIRECT_URI.replace('callback', 'Callback') },
      { redirect_uri: REDIRECT_URI.replace('127.0.0.1', '127.0.0.1.evil.example') },
      { redirect_uri: REDIRECT_URI.replace('http://', 'http://evil@') },
      { redirect_uri: 'https://evil.example/callback' },
      { redirect_uri: undefined, client_id: 'unknown' },
      { client_id: 'unknown' },
    ]
    for (const changes of toNowhere) {
      const response = await fetch(program.authorizationUrl(changes), { redirect: 'manual' })
      assert.deepEqual(
        [response.status, response.headers.get('location'), response.headers.get('content-type')],
        [400, null, 'text/html; charset=utf-8'],
        JSON.stringify(changes),
      )
    }
    const asJson = { headers: { accept: 'application/json' }, redirect: 'manual' } as const
    const refused = await fetch(program.authorizationUrl({ client_id: 'unknown' }), asJson)
    assert.equal(refused.status, 400)
    assert.deepEqual(Object.keys(await refused.clone().json()), ['error', 'error_description'])
    assert.equal((await refused.json()).error, 'invalid_client')
    const toProgram: [changes: Record<string, string | undefined>, error: string][] = [
      [{ code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
      [{ code_challenge_method: 'plain' }, 'invalid_request'],
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ resource: 'https://evil.example/mcp' }, 'invalid_target'],
    ]
    for (const [changes, error] of toProgram) {
      const response = await fetch(program.authorizationUrl(changes), { redirect: 'manual' })
      const target = new URL(response.headers.get('location')!)
      assert.deepEqual(
        [
          target.origin + target.pathname,
          target.searchParams.get('error') ?? new URLSearchParams(target.hash.slice(1)).get('error'),
        ],
        [REDIRECT_URI, error],
      )
    }
  })

  test('a browser is led to an address that a stranger registered only with the access that its user has allowed', async () => {
    const redirectUris = [
      'https://evil.example/x',
      'https://evil.example/x?code=1',
      'cursor://localhost/callback',
    ]
    const stranger = await Program.register(api.baseUrl, { redirect_uris: redirectUris })
    const isPage = async (response: Response, host: string, text: string) => {
      const page = await response.text()
      assert.ok(!page.includes('null:'), page)
      assert.equal(response.headers.get('location'), null)
      assert.match(
        response.headers.get('content-security-policy')!,
        /default-src 'none'.*frame-ancestors 'none'/,
      )
      assert.ok(page.includes(`The program at <strong>${host}</strong> ${text}`), page)
    }
    const invalid: Record<string, string | undefined>[] = [
      { response_type: 'token' },
      { code_challenge: undefined, code_challenge_method: undefined },
      { prompt: 'none' },
      { resource: 'https://evil.example/mcp' },
      ...['form_post', 'fragment', 'web_message', 'jwt', 'unknown'].map((response_mode) => ({
        response_mode,
      })),
      { response_type: 'id_token token', response_mode: 'form_post' },
    ]
    for (const changes of invalid)
      for (const redirect_uri of redirectUris) {
        const url = stranger.authorizationUrl({ redirect_uri, ...changes })
        const host = redirect_uri.startsWith('cursor:') ? 'cursor:' : new URL(redirect_uri).host
        await isPage(await fetch(url, { redirect: 'manual' }), host, 'sent an invalid request. Return to it?')
      }
    for (const redirect_uri of redirectUris.slice(0, 2)) {
      const denied = await stranger.begin({ redirect_uri })
      const { url } = (await (await stranger.decide(denied, account.key, false)).json()) as { url: string }
      const answer = await fetch(url, { headers: { cookie: denied.cookie }, redirect: 'manual' })
      await isPage(answer, 'evil.example', 'got no access to your account. Return to it?')
    }
    assert.match(await stranger.code(account.key, { redirect_uri: redirectUris[0] }), /^[\w-]{43}$/)
    // A neighboring site can set the cookies without a prefix, of an access that the stranger has allowed itself.
    const tossed = await stranger.begin({ redirect_uri: redirectUris[0] })
    const { url } = (await (await stranger.decide(tossed, account.key)).json()) as { url: string }
    const cookie = tossed.cookie
      .split('; ')
      .filter((one) => one.includes('resume'))
      .join('; ')
    assert.ok(cookie)
    const refused = await fetch(url, { headers: { cookie }, redirect: 'manual' })
    assert.deepEqual([refused.status, refused.headers.get('location')], [400, null])
  })

  test('a code is of no use without its verifier, and to another program', async () => {
    const other = await Program.register(api.baseUrl)
    for (const changes of [
      { code_verifier: undefined },
      { code_verifier: other.verifier },
      { redirect_uri: `${REDIRECT_URI}/` },
      { client_id: other.clientId },
    ])
      assert.equal((await program.exchange(await program.code(account.key), changes)).status, 400)
  })

  test('a link to the question is of no use in another browser', async () => {
    const begun = await program.begin()
    const another = await program.begin()
    for (const cookie of ['', another.cookie])
      assert.equal((await program.decide({ ...begun, cookie }, account.key)).status, 404)
  })

  test('a request is decided once, also at the same time, and without tokens it leaves no program', async () => {
    const own = await api.account()
    const begun = await program.begin()
    const decisions = await Promise.all(
      [true, true, true, false].map((allow) => program.decide(begun, own.key, allow)),
    )
    assert.deepEqual(decisions.map(({ status }) => status).sort(), [200, 409, 409, 409])
    const refused = await Promise.all(decisions.map((one) => one.json() as Promise<{ code?: string }>))
    assert.equal(refused.filter(({ code }) => code === 'ALREADY_DECIDED').length, 3)
    const names = async () => (await own.client.programs()).programs.map(({ id }) => id)
    assert.deepEqual(await names(), [])
    const { access_token: token } = await program.tokens(own.key)
    const [first] = await names()
    for (let requests = 0; requests < 3; requests++) await program.code(own.key)
    assert.deepEqual([await names(), await statusOf(token)], [[first], 200])
    // The limit counts those with tokens.
    const { store } = await api.operator()
    const { id: accountId, keyHash: allowedBy } = (await store.read.accounts.byEmail(own.email))!
    for (let index = 1; index <= 50; index++) {
      const clock = () => api.clock.now + index
      const adapter = (kind: string) => oauthAdapter(kind, { ...STORAGE, store, clock })
      await adapter('Grant').upsert(`of ${index}`, { accountId, clientId: program.clientId, allowedBy }, 60)
      await adapter('RefreshToken').upsert(`token ${index}`, { accountId, grantId: `of ${index}` }, 60)
      if (index >= 49)
        assert.deepEqual([(await names()).length, (await names()).includes(first!)], [50, index === 49])
    }
    assert.equal(await statusOf(token), 401)
  })

  test('a code gives no tokens when the key that allowed the access was revoked', async () => {
    const own = await api.account()
    const { id, apiKey } = await own.client.createKey({ name: 'stolen', scope: 'manage' })
    const [before, after] = [await program.code(apiKey), await program.code(apiKey)]
    const { access_token: token } = (await (await program.exchange(before)).json()) as Tokens
    await own.client.revokeKey(id)
    const refused = await program.exchange(after)
    assert.deepEqual(
      [refused.status, ((await refused.json()) as { error: string }).error],
      [400, 'invalid_grant'],
    )
    assert.deepEqual([(await own.client.programs()).programs.length, await statusOf(token)], [1, 200])
  })

  test('an access lasts from its first tokens, as does the registration of its program', async () => {
    const { store } = await api.operator()
    const own = await Program.register(api.baseUrl)
    const expiry = async () =>
      (await store.read.oauth.find(oauthIdHash('Client', own.clientId), 0))?.expiresAt
    const code = await own.code(account.key)
    assert.equal(await expiry(), api.clock.now + DAY_MS)
    assert.equal((await own.exchange(code)).status, 200)
    assert.equal(await expiry(), api.clock.now + 90 * DAY_MS)
  })

  test('a user who denies access is returned to the program without a code', async () => {
    const begun = await program.begin()
    const { url } = (await (await program.decide(begun, account.key, false)).json()) as { url: string }
    const back = await fetch(url, { headers: { cookie: begun.cookie }, redirect: 'manual' })
    assert.equal(new URL(back.headers.get('location')!).searchParams.get('error'), 'access_denied')
  })

  test('access ends when the user ends it, and with the account', async () => {
    const own = await api.account()
    const { access_token: token, refresh_token: refresh } = await program.tokens(own.key)
    const { programs } = await own.client.programs()
    assert.deepEqual([programs.length, programs[0]!.program, programs[0]!.scope], [1, 'Test', 'manage'])
    await own.client.revokeProgram(programs[0]!.id)
    assert.deepEqual([await statusOf(token), (await program.refresh(refresh)).status], [401, 400])
    const last = await program.tokens(own.key)
    await own.client.deleteAccount(own.email)
    assert.deepEqual(
      [await statusOf(last.access_token), (await program.refresh(last.refresh_token)).status],
      [401, 400],
    )
  })

  const ENDS: Record<string, (own: Account, code: string) => Promise<unknown>> = {
    'its user ends it': async ({ client }) => client.revokeProgram((await client.programs()).programs[0]!.id),
    'its code is used again': (_, code) => program.exchange(code),
  }
  for (const [scope, decides, when] of [
    ['publish', false, 'its user ends it'],
    ['manage', true, 'its code is used again'],
  ] as const)
    test(`a program of scope ${scope} gets review links ${decides ? 'with' : 'without'} which guests decide, until ${when}`, async () => {
      const own = await api.account()
      const code = await program.code(own.key, { scope })
      const { access_token: key } = (await (await program.exchange(code)).json()) as Tokens
      await using agent = await Agent.connect(api.baseUrl, { key })
      const files = [{ path: 'index.html', content: 'x' }]
      const { slug, reviewUrl } = await agent.call('publish_site', { files, review: true })
      const guest = api.anonymous.with({ reviewToken: new URL(reviewUrl).hash.slice(1) }).review(slug)
      await own.client.revokeKey((await own.client.createKey({ name: 'other', scope: 'read' })).id)
      api.pass(2 * HOUR_MS)
      const { mayDecide, frame } = await guest.get()
      api.pass(-2 * HOUR_MS)
      assert.deepEqual([mayDecide, (await api.visit(frame.url)).status], [decides, 200])
      await ENDS[when]!(own, code)
      await expectFailure(guest.get(), 'NOT_FOUND')
      assert.equal((await api.visit(frame.url)).status, 404)
    })

  test('no code or token is stored, and expired records are deleted', async () => {
    const code = await program.code(account.key)
    const tokens = (await (await program.exchange(code)).json()) as Tokens
    const { refresh_token: successor } = await refreshed(program, tokens.refresh_token)
    for (const file of ['slipway.db', 'slipway.db-wal']) {
      const stored = await readFile(join(api.data, file)).catch(() => Buffer.alloc(0))
      for (const secret of [code, tokens.access_token, tokens.refresh_token, successor])
        assert.ok(!stored.includes(secret), `${file} has a secret`)
    }
    api.clock.now += 91 * DAY_MS
    assert.equal(await statusOf(tokens.access_token), 401)
    assert.ok((await api.sweep('programs')) > 0)
    assert.equal(await api.sweep('programs'), 0)
    api.clock.now -= 91 * DAY_MS
  })
})

/** The authorization server of another node with the same database and secret. */
async function startNode(api: Api): Promise<{ url: string } & AsyncDisposable> {
  const { programs } = await api.operator()
  const server = createServer((await programs.server()).handle)
  return {
    url: `http://127.0.0.1:${await listen(server)}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await server[Symbol.asyncDispose]()
    },
  }
}
