import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { AuditPage } from '../../protocol/api/admin/audit.schema.ts'
import { COMMAND_LINE_CLIENT } from '../../protocol/api/device.ts'
import type { ErrorCode } from '../../protocol/api/errors.schema.ts'
import type { KeyScope } from '../../protocol/api/keys.ts'
import { OPERATIONS } from '../../protocol/api/operations.schema.ts'
import type { OperationId } from '../../protocol/api/paths.ts'
import { REVIEW_TOKEN_HEADER } from '../../protocol/api/reviews.ts'
import { isDurable, type Store } from '../../server/store/store.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { CallFixture } from '../calls/fixture.ts'
import {
  ACCEPTED_KEYS,
  ACCOUNT_REFUSALS,
  CALLS,
  type Call,
  type CallRequest,
  type Credential,
  sendCall,
} from '../calls.ts'
import type { Tokens } from '../mcp/program.ts'
import { repeatWrites } from '../support/repeated-writes.ts'
import { sharedIssuer } from '../tools/oidc-issuer.ts'
import { Api, DAY_MS } from './api.ts'
import { browser } from './browser.ts'
import { type ApiDocument, Conformance, operations } from './document.ts'
import { mailsTo } from './sign-in-mails.ts'

/** The durable writes of the service. */
let writes = 0

/** The store of the service, which runs the work of each write twice, as PostgreSQL may do. */
function watch(store: Store): Store {
  const repeated = repeatWrites(store)
  return {
    ...repeated,
    write: (durability, ...rest) => {
      if (isDurable(durability)) writes++
      return repeated.write(durability, ...rest)
    },
    execute: (durability, ...rest) => {
      if (isDurable(durability)) writes++
      return repeated.execute(durability, ...rest)
    },
  }
}

const issuer = await sharedIssuer()
const api = await Api.start({ OIDC_ISSUERS: `github=${issuer.url}` }, { wrapStore: watch })
after(() => api[Symbol.asyncDispose]())
api.conformance = new Conformance((await api.request('GET', '/api/openapi.json')).json as ApiDocument)
const fixture = await CallFixture.create(api, issuer)
const { owner } = fixture
const [stranger, colleague, suspended] = [await api.account(), await api.account(), await api.account()]
const { suspensions, store } = await api.operator()
await suspensions.changeAccount(COMMAND_LINE, suspended.email, { reason: 'x' })
const { cookie } = await browser(api, owner)
const otherSite = await fixture.site()
// Sessions of administrators are too old for changes.
api.pass(DAY_MS / 2)

const createKey = (scope: KeyScope, sites: string[] | null = null) =>
  owner.client.createKey({ name: fixture.name(), scope, sites })
const KEYS = {
  read: await createKey('read'),
  preview: await createKey('preview'),
  publish: await createKey('publish'),
  ofOtherSite: await createKey('manage', [otherSite.slug]),
  expiring: await owner.client.createKey({ name: 'expiring', scope: 'manage', expiresInSeconds: 86_400 }),
}
const unlimited = await createKey('manage')

const { account } = fixture.administrator
const { apiKey: managing } = await account.client.createKey({ name: 'manage', scope: 'manage' })
const { access_token: token } = await (await fixture.program()).tokens(account.key)
const NO_ADMINISTRATORS: Record<string, Credential> = {
  'no key': {},
  'the key of another account': { key: stranger.key },
  'the session of another account': { headers: (await browser(api, stranger)).headers },
  'the unnamed key of an administrator': { key: account.key },
  'a key of an administrator with scope manage': { key: managing },
  'a token of a program of an administrator': { key: token },
}

const UNKNOWN = {
  slug: 'no-such-site-234567',
  versionId: 'x',
  id: 'unknown',
  name: 'unknown',
  path: 'unknown.txt',
  domain: 'www.unknown.test',
  email: 'unknown@example.com',
}

const documented = new Map(
  operations(api.conformance!.document).map(([route, operation]) => [
    operation.operationId,
    { route, operation },
  ]),
)

test('the calls are those of the OpenAPI document, which names the scopes that they need', () => {
  const routes = Object.entries(CALLS).map(([id, { route }]) => [id, route])
  const documentedRoutes = Object.fromEntries([...documented].map(([id, { route }]) => [id, route]))
  assert.deepEqual(Object.fromEntries(routes), documentedRoutes)
  for (const [id, { access, previews }] of Object.entries(CALLS)) {
    const { security } = documented.get(id)!.operation
    const scopes = ['public', 'any'].includes(access)
      ? []
      : [access.split(' ')[0], ...(previews ? ['preview'] : [])]
    assert.deepEqual(security.flatMap((way) => Object.values(way)).flat(), scopes, id)
    assert.equal(security.length === 0, access === 'public', id)
  }
})

/** The password and the expiry are the owner's. */
const OF_SOME_FIELDS = ['updateMetadata', 'updateSite', 'uploadVersion']

test('the document lists the refusals of an account without the right where a call has them, and nowhere else', () => {
  for (const [id, { route, right }] of Object.entries(CALLS)) {
    if (!right || right === 'own') continue
    const { collaborator, ownerOfSuspended } = ACCOUNT_REFUSALS[right]
    const { responses, parameters = [] } = documented.get(id)!.operation
    const codes = Object.values(responses).flatMap(({ description }) => description.split(', '))
    if (!OF_SOME_FIELDS.includes(id))
      assert.equal(codes.includes('OWNER_REQUIRED'), collaborator === 'OWNER_REQUIRED', id)
    // A suspension ends what links show, also to readers.
    if (!parameters.some(({ name }) => name === REVIEW_TOKEN_HEADER))
      assert.equal(codes.includes('SITE_SUSPENDED'), ownerOfSuspended === 'SITE_SUSPENDED', id)
    if (route.includes('/review'))
      assert.equal(codes.includes('SITE_PENDING'), !route.includes('/previews/'), id)
  }
})

test('pages of every origin may send each call with a key, and publish by a direct upload', async () => {
  const headers = { origin: 'https://elsewhere.test', 'access-control-request-headers': 'authorization' }
  for (const { route, access } of Object.values(CALLS)) {
    const [method, path] = route.split(' ') as [string, string]
    if (access === 'admin') continue
    const preflight = { ...headers, 'access-control-request-method': method }
    const answer = await api.request('OPTIONS', path.replace(/\{\w+\}/g, 'x'), { headers: preflight })
    assert.equal(answer.status, 204, route)
    assert.equal(answer.headers['access-control-allow-origin'], '*', route)
    assert.ok(answer.headers['access-control-allow-methods']!.split(', ').includes(method), route)
    const allowed = answer.headers['access-control-allow-headers']!
    assert.match(allowed, /authorization.*content-type/i)
    assert.ok(allowed.includes(REVIEW_TOKEN_HEADER))
  }
})

test('on a service of this machine, pages of other origins and of published sites change nothing without a key', async () => {
  const ofSite = `http://a-site.localhost:${api.port}`
  for (const { route, access } of Object.values(CALLS)) {
    const [method, path] = route.split(' ') as [string, string]
    const isSigned = path.startsWith('/api/v1/_upload/')
    if (method === 'GET' || access === 'admin' || isSigned) continue
    for (const origin of ['https://elsewhere.test', 'null', 'http://192.168.1.7', ofSite])
      assert.equal(
        (await api.request(method, path.replace(/\{\w+\}/g, 'x'), { headers: { origin } })).status,
        401,
        `${route} from ${origin}`,
      )
  }
  for (const origin of [api.baseUrl, 'http://localhost:5173', 'http://app.localhost:1', 'http://[::1]:1']) {
    const { status } = await api.request('POST', '/api/v1/publish', { headers: { origin }, json: {} })
    assert.equal(status, 400, origin)
  }
})

describe('a call is refused to those without the right to it, then succeeds, and its response is documented:', () => {
  for (const [id, call] of Object.entries(CALLS))
    test(call.route, async () => {
      // A network can send a limited number of unknown keys a second.
      api.pass(1000)
      const request = await call.prepare(fixture)
      await using ofSite = await keyOfSite(call, request)
      await assertRefusals(call, request, ofSite)
      await assertErrors(call, request)
      if (call.right) await assertRights(call, request)
      await assertSucceeds(id, request, leastCredential(call, ofSite))
      if (call.anonymous) await assertSucceeds(id, await call.prepare(fixture), {})
      await assertClaimToken(id, call)
      if (call.right && ACCOUNT_REFUSALS[call.right].collaborator === undefined) {
        const shared = await call.prepare(fixture)
        await share(slugOf(shared)!)
        await assertSucceeds(id, shared, colleague)
      }
      if (call.right) await assertDeleted(call, request)
    })
})

test('the requests for tokens, which the document does not have, succeed when each write runs twice', async () => {
  const { user_code, device_code } = await fixture.device()
  await owner.client.decideDevice(user_code, true)
  const { access_token: key } = await api.anonymous.exchangeDeviceCode(COMMAND_LINE_CLIENT, device_code)
  assert.equal((await api.client(key).me()).email, owner.email)
  const program = await fixture.program()
  let { refresh_token } = await program.tokens(owner.key)
  const next = async () => (await (await program.refresh(refresh_token)).json()) as Tokens
  for (let uses = 0; uses < 2; uses++) ({ refresh_token } = await next())
  const body = new URLSearchParams({ client_id: program.clientId, token: refresh_token })
  assert.equal((await fetch(`${api.baseUrl}/oauth/revoke`, { method: 'POST', body })).status, 200)
  assert.equal((await program.refresh(refresh_token)).status, 400)
})

/** The claim token of a site without an owner, and no other, permits the call in place of a key until it is claimed. */
async function assertClaimToken(id: string, call: Call): Promise<void> {
  if (!call.unowned) return
  const [one, other] = [await call.unowned(fixture), await call.unowned(fixture)]
  const withToken = (claimToken: string): CallRequest => {
    const headers = { ...one.request.headers, 'x-slipway-claim-token': claimToken }
    return { ...one.request, headers }
  }
  const refused = await sendCall(api, call, withToken(other.claimToken))
  assert.equal(refused.json?.code, 'INVALID_CLAIM_TOKEN')
  await assertSucceeds(id, withToken(one.claimToken), {})
  const slug = slugOf(other.request)!
  await owner.client.claim(slug, other.claimToken)
  const claimed = { ...withToken(other.claimToken), path: other.request.path! }
  assert.equal((await sendCall(api, call, claimed)).json?.code, 'UNAUTHORIZED')
}

type KeyOfSite = { key: string } & AsyncDisposable

function slugOf({ path }: CallRequest): string | undefined {
  return (path as { slug?: string } | undefined)?.slug
}

/** The narrowest key that a call of a site accepts; for calls of other reaches, a key of scope manage of the site. */
async function keyOfSite({ access, right }: Call, request: CallRequest): Promise<KeyOfSite | undefined> {
  const slug = slugOf(request)
  if (!right || right === 'own' || slug === undefined) return undefined
  const [scope, reach] = access.split(' ') as [KeyScope, string]
  const { id, apiKey } = await createKey(reach === 'site' ? scope : 'manage', [slug])
  return { key: apiKey, [Symbol.asyncDispose]: async () => void (await owner.client.revokeKey(id)) }
}

/** The credential with the least rights that a call accepts. */
function leastCredential({ access }: Call, ofSite: KeyOfSite | undefined): Credential {
  if (access === 'public') return { key: 'sl_live_ignored' }
  if (access === 'admin') return fixture.administrator
  if (access === 'any') return { key: KEYS.read.apiKey }
  const accepted = ACCEPTED_KEYS[access]
  if (ofSite && accepted.ofSite) return ofSite
  const kind = Object.keys(KEYS).find((name) => accepted[name as keyof typeof KEYS]) as
    | keyof typeof KEYS
    | undefined
  return { key: kind ? KEYS[kind].apiKey : unlimited.apiKey }
}

/** RFC 6750, section 3: without a code when the request had no key. */
function expectedChallenge({ key }: Credential): string {
  return key === undefined ? 'Bearer realm="API"' : 'Bearer realm="API", error="invalid_token"'
}

async function assertRefusals(
  call: Call,
  { as: _, ...request }: CallRequest,
  ofSite?: KeyOfSite,
): Promise<void> {
  const { access, anonymous, right, route } = call
  const [method, path] = route.split(' ') as [string, string]
  const refuse = async (
    who: string,
    credential: Credential,
    code: ErrorCode,
    given: CallRequest = request,
  ) => {
    const answer = await sendCall(api, call, given, credential)
    assert.equal(answer.json?.code, code, `${who}: ${answer.status}`)
    const challenge = code === 'UNAUTHORIZED' ? expectedChallenge(credential) : undefined
    assert.equal(answer.headers['www-authenticate'], challenge, who)
    return answer.text
  }
  if (access === 'public') return
  await refuse('an invalid key', { key: 'sl_live_wrong' }, 'UNAUTHORIZED')
  if (access === 'admin') return assertForAdministrators(call, request)
  if (!anonymous) {
    await refuse('no key', {}, 'UNAUTHORIZED')
    await refuse(
      'a page of another origin',
      { headers: { cookie, origin: 'https://evil.test' } },
      'UNAUTHORIZED',
    )
  }
  if (access === 'any') return
  for (const [kind, isAccepted] of Object.entries(ACCEPTED_KEYS[access])) {
    const key = kind === 'ofSite' ? ofSite?.key : KEYS[kind as keyof typeof KEYS].apiKey
    if (!isAccepted && key) await refuse(`a key: ${kind}`, { key }, 'INSUFFICIENT_SCOPE')
  }
  if (!['GET', 'DELETE'].includes(method)) await refuse('a suspended account', suspended, 'ACCOUNT_SUSPENDED')
  if (!right) return
  const unknown = { ...request, path: { ...request.path, slug: UNKNOWN.slug } }
  const text = await refuse('another account', stranger, 'NOT_FOUND')
  if (!path.includes('{slug}')) return
  assert.equal(await refuse('an unknown site', stranger, 'NOT_FOUND', unknown), text)
  if (ofSite && access.endsWith(' site'))
    await refuse('a key of one site', ofSite, 'INSUFFICIENT_SCOPE', unknown)
}

/** Routes for administrators do not exist for others, and change nothing for a session of more than twelve hours. */
async function assertForAdministrators(call: Call, request: CallRequest): Promise<void> {
  for (const [who, credential] of Object.entries(NO_ADMINISTRATORS)) {
    const { status, json } = await sendCall(api, call, request, credential)
    const unknown = await api.request('GET', '/api/admin/nothing', credential)
    assert.deepEqual([status, json], [unknown.status, unknown.json], who)
  }
  const { json, status } = await sendCall(api, call, request, { headers: fixture.administrator.session })
  if (call.writes) assert.equal(json.code, 'SIGN_IN_AGAIN')
  else assert.equal(status, 200)
}

/** Names that nothing has, a body that is a list, and the errors of the call. */
async function assertErrors(
  { route, access, errors = [], ...call }: Call,
  request: CallRequest,
): Promise<void> {
  const names = [...route.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as keyof typeof UNKNOWN)
  const unknown = access === 'public' || route.includes('/names/') ? [] : names
  const cases: [ErrorCode, CallRequest][] = [
    ...unknown.map((name): [ErrorCode, CallRequest] => [
      'NOT_FOUND',
      { path: { ...request.path, [name]: UNKNOWN[name] } },
    ]),
    ...(request.json ? [['VALIDATION_ERROR', { json: [] }] as [ErrorCode, CallRequest]] : []),
    ...errors.map(([code, change]): [ErrorCode, CallRequest] => [code, change]),
  ]
  const credential = access === 'admin' ? fixture.administrator : access === 'public' ? {} : owner
  for (const [code, change] of cases) {
    const answer = await sendCall(api, { route, access, ...call }, { ...request, ...change }, credential)
    assert.equal(answer.json?.code, code, `${JSON.stringify(change)}: ${answer.text.slice(0, 300)}`)
  }
}

/** What accounts get that have another part in the site. */
async function assertRights(call: Call, request: CallRequest): Promise<void> {
  const slug = slugOf(request)
  if (slug === undefined) return
  const { collaborator, ownerOfSuspended } = ACCOUNT_REFUSALS[call.right!]
  const codeFor = async (account: Credential) => (await sendCall(api, call, request, account)).json?.code
  await share(slug)
  if (collaborator) assert.equal(await codeFor(colleague), collaborator)
  if (call.right === 'own') return
  await suspensions.changeSite(COMMAND_LINE, slug, { reason: 'x' })
  if (ownerOfSuspended || !call.writes) assert.equal(await codeFor(owner), ownerOfSuspended)
  await suspensions.changeSite(COMMAND_LINE, slug)
}

async function share(slug: string): Promise<void> {
  const collaborator = { slug, email: colleague.email, addedAt: api.clock.now }
  await store.write('durable', { site: slug }, (tx) => tx.collaborators.add(collaborator))
}

async function assertDeleted(call: Call, request: CallRequest): Promise<void> {
  const slug = slugOf(request)
  const code = ACCOUNT_REFUSALS[call.right!].ownerOfDeleted
  if (slug === undefined || code === undefined) return
  await owner.client.delete(slug).catch(() => undefined)
  assert.equal((await sendCall(api, call, request, owner)).json.code, code)
}

/** Asserts the documented response, and whether the call writes, which an administrator finds in the audit log. */
async function assertSucceeds(id: string, request: CallRequest, credential: Credential): Promise<void> {
  const call = CALLS[id]!
  await api.running.service.precompressor.onIdle()
  const [writesBefore, mailsBefore] = [writes, await countReasons(request)]
  api.pass()
  const { status, text } = await sendCall(api, call, request, credential)
  const [success] = OPERATIONS[id as OperationId].answer
  assert.equal(status, success, text)
  assert.equal(writes > writesBefore, call.writes, 'writes')
  if (call.audit === undefined) return
  const { key, email } = fixture.administrator
  const log = await api.request('GET', '/api/admin/audit?limit=1', { key })
  const { actor, action, details } = (log.json as AuditPage).rows[0]!
  assert.deepEqual([actor, action], [email, call.audit])
  if (request.notifies === undefined) return
  assert.equal(details?.reason, (request.json as { reason: string }).reason)
  assert.equal((await countReasons(request)) - mailsBefore, 1)
}

/** The emails with the reason of the request. */
async function countReasons({ notifies, json }: CallRequest): Promise<number> {
  if (notifies === undefined) return 0
  await api.sweep('emails')
  const reason = `The reason: ${(json as { reason: string }).reason}`
  return (await mailsTo(api, notifies)).filter((mail) => mail.includes(reason)).length
}
