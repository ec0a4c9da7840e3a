import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { OpenAPIClientAxios } from 'openapi-client-axios'
import { readConfig } from '../../server/config/settings.ts'
import { STATUS } from '../../server/lib/errors.ts'
import { Program } from '../mcp/program.ts'
import { domainRow } from '../store/rows.ts'
import { sharedIssuer } from '../tools/oidc-issuer.ts'
import { administrator } from './administrator.ts'
import { HOUR_MS, startApi } from './api.ts'
import type { ApiResponse } from './api-response.ts'
import { operations } from './document.ts'
import { jobToken } from './trusted-job.ts'
import { webp } from './webp.ts'

const issuer = await sharedIssuer()
const api = await startApi({ OIDC_ISSUERS: `github=${issuer.url}` })
const document = api.conformance!.document

/** The routes of spec 4 and of the contract. */
const ROUTES = `
POST /api/auth/agent/request-code
POST /api/auth/agent/verify-code
POST /api/auth/session
DELETE /api/auth/session
POST /api/auth/device
POST /api/auth/device/token
POST /api/v1/me/device
POST /api/v1/me/device/decision
GET /api/v1/me
PATCH /api/v1/me
DELETE /api/v1/me
POST /api/v1/me/key
DELETE /api/v1/me/key
GET /api/v1/me/keys
POST /api/v1/me/keys
DELETE /api/v1/me/keys/{id}
POST /api/auth/oidc/exchange
GET /api/v1/me/trusts
POST /api/v1/me/trusts
DELETE /api/v1/me/trusts/{id}
GET /api/v1/me/sessions
DELETE /api/v1/me/sessions
DELETE /api/v1/me/sessions/{id}
GET /api/v1/authorizations/{id}
POST /api/v1/authorizations/{id}
GET /api/v1/me/programs
DELETE /api/v1/me/programs/{id}
POST /api/v1/publish
PUT /api/v1/publish/{slug}
GET /api/v1/publish/{slug}
DELETE /api/v1/publish/{slug}
POST /api/v1/publish/{slug}/undelete
GET /api/v1/publish/{slug}/collaborators
POST /api/v1/publish/{slug}/collaborators
DELETE /api/v1/publish/{slug}/collaborators
POST /api/v1/publish/{slug}/finalize
POST /api/v1/publish/{slug}/uploads/refresh
PATCH /api/v1/publish/{slug}/metadata
PATCH /api/v1/publish/{slug}/name
POST /api/v1/publish/{slug}/preview
GET /api/v1/names/{name}
POST /api/v1/publish/{slug}/duplicate
POST /api/v1/publish/{slug}/claim
POST /api/v1/publish/{slug}/claim/preview
GET /api/v1/publish/{slug}/analytics
GET /api/v1/publish/{slug}/versions
GET /api/v1/publish/{slug}/versions/{versionId}
POST /api/v1/publish/{slug}/versions/{versionId}/restore
GET /api/v1/publish/{slug}/previews
GET /api/v1/publish/{slug}/previews/{name}
POST /api/v1/publish/{slug}/previews/{name}/promote
DELETE /api/v1/publish/{slug}/previews/{name}
DELETE /api/v1/publish/{slug}/versions/{versionId}
PUT /api/v1/publish/{slug}/versions/{versionId}/thumbnail
GET /api/v1/publish/{slug}/versions/{versionId}/thumbnail
GET /api/v1/publish/{slug}/files/{path}
GET /api/v1/publish/{slug}/archive
PUT /
PUT /{slug}
PUT /api/v1/_upload/{path}
PUT /api/v1/_upload/{slug}/{versionId}
GET /api/v1/publishes
GET /api/v1/domains
POST /api/v1/domains
GET /api/v1/domains/{domain}
DELETE /api/v1/domains/{domain}
GET /api/v1/domains/{domain}/events
GET /api/admin/overview
GET /api/admin/policies
GET /api/admin/activity
GET /api/admin/sites
GET /api/admin/accounts
GET /api/admin/domains
GET /api/admin/certificates
GET /api/admin/sweeps
GET /api/admin/nodes
GET /api/admin/audit
PUT /api/admin/accounts/{id}/plan
GET /api/admin/invitations
POST /api/admin/invitations
DELETE /api/admin/invitations/{email}
PUT /api/admin/accounts/{id}/administrator
GET /api/admin/sites/{slug}
PUT /api/admin/sites/{slug}/suspension
DELETE /api/admin/sites/{slug}/suspension
DELETE /api/admin/sites/{slug}
PUT /api/admin/accounts/{id}/suspension
DELETE /api/admin/accounts/{id}/suspension
DELETE /api/admin/accounts/{id}
DELETE /api/admin/domains/{domain}
GET /api/admin/blocks
POST /api/admin/blocks
DELETE /api/admin/blocks
GET /api/admin/reports
PUT /api/admin/reports/{slug}
POST /api/reports`
  .trim()
  .split('\n')

/** A method of a generated client: the parameters, the body, settings of the request. */
type GeneratedMethod = (
  parameters: object | string | null,
  body?: unknown,
  settings?: object,
) => Promise<{ data: ApiResponse['json'] }>

interface ErrorSchema {
  properties: { code: { enum: string[] } }
  required: string[]
}

describe('the OpenAPI document', () => {
  test('has version 3.1, a description and the address of the service', () => {
    assert.match(document.openapi, /^3\.1\.\d+$/)
    assert.equal(typeof document.info.title, 'string')
    assert.equal(typeof document.info.version, 'string')
    assert.deepEqual(document.servers, [{ url: api.baseUrl }])
  })

  test('has the routes of the spec and the contract, and no other', () => {
    assert.deepEqual(
      operations(document)
        .map(([name]) => name)
        .toSorted(),
      ROUTES.toSorted(),
    )
  })

  test('marks operations with a required, an optional and no key', async () => {
    const schemes = Object.keys(document.components.securitySchemes)
    for (const [name, operation] of operations(document)) {
      const { security } = operation
      for (const way of security)
        for (const scheme of Object.keys(way)) assert.ok(schemes.includes(scheme), name)
      const needsKey = security.length > 0 && security.every((way) => Object.keys(way).length > 0)
      const [method, path] = name.split(' ') as [string, string]
      const target = path
        .replace('{slug}', 'no-such-site-234567')
        .replace('{path}', 'a')
        .replace(/\{\w+\}/g, 'x')
      const without = await api.request(method, target)
      if (needsKey) assert.equal(without.status, path.startsWith('/api/admin/') ? 404 : 401, name)
      const withWrong = await api.request(method, target, { key: 'sl_live_wrong' })
      assert.equal(withWrong.status === 401, security.length > 0, `${name} with a wrong key`)
    }
  })

  test('has one schema for errors, with every code, and headers for limits and retries', () => {
    const limits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
    for (const [name, { responses }] of operations(document)) {
      for (const [status, { headers, content }] of Object.entries(responses)) {
        const retry = ['429', '5XX'].includes(status) ? ['Retry-After'] : []
        assert.deepEqual(Object.keys(headers ?? {}), [...limits, ...retry], `${name} ${status}`)
        if (status.startsWith('2')) continue
        const { properties, required } = content!['application/json']!.schema as ErrorSchema
        assert.deepEqual(properties.code.enum, Object.keys(STATUS))
        assert.deepEqual(required, ['error', 'code', 'status', 'hint', 'docs'])
      }
      assert.deepEqual(Object.keys(responses).slice(-3), ['429', '4XX', '5XX'], name)
    }
  })

  test('passes a public linter without a warning', async () => {
    const { json } = await api.request('GET', '/api/openapi.json')
    const config = await createConfig({ extends: ['recommended'] })
    const source = JSON.stringify({ ...json, servers: [{ url: 'https://slipway.example.net' }] })
    const problems = await lintFromString({ source, config, absoluteRef: 'openapi.json' })
    assert.deepEqual(
      problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
      [],
    )
  })

  test('has an example for each JSON body and response, which its schema allows', () => {
    const ajv = new Ajv2020({ strict: false })
    for (const [name, { requestBody, responses }] of operations(document)) {
      const contents = [requestBody?.content, ...Object.values(responses).map(({ content }) => content)]
      for (const content of contents) {
        const json = content?.['application/json']
        if (!json) continue
        assert.ok(Object.keys(json.examples ?? {}).length > 0, `${name} has an example`)
        for (const { value } of Object.values(json.examples ?? {}))
          assert.ok(ajv.validate(json.schema, value), `${name}: ${ajv.errorsText()}`)
      }
    }
  })

  test('has examples with real values: the default limits, the messages of the service, contents', async () => {
    const { json } = await api.request('GET', '/api/openapi.json')
    const examples = new Map(
      operations(json).map(([, { operationId, requestBody, responses }]) => {
        const [success] = Object.values(responses)
        const [request, response] = [requestBody, success].map((part) => {
          const values = Object.entries(part?.content?.['application/json']?.examples ?? {})
          return Object.fromEntries(values.map(([name, { value }]) => [name, value as ApiResponse['json']]))
        })
        return [operationId, { request: request!, response: response! }]
      }),
    )
    assert.doesNotMatch(JSON.stringify([...examples.values()]), /"(\w+)":\[?"\1"/i)
    const { request, response } = examples.get('createSite')!
    assert.equal(request.content.files[0].content, '<h1>Hello</h1>')
    assert.equal(response.content.status, 'active')
    const config = readConfig({})
    const { planName, limits } = examples.get('getAccount')!.response.getAccount
    const { name, ...free } = config.plans.free!
    assert.equal(planName, name)
    assert.deepEqual(limits, { ...free, draftLifetimeSeconds: config.draftLifetime })
    const email = 'examples@example.com'
    const { expiresInSeconds } = await api.anonymous.requestCode(email)
    assert.equal(examples.get('requestCode')!.response.requestCode.expiresInSeconds, expiresInSeconds)
    const { message, warning } = await api.anonymous.verifyCode(email, await api.running.mailedCode(email))
    const { verifyCode } = examples.get('verifyCode')!.response
    assert.deepEqual([verifyCode.message, verifyCode.warning], [message, warning])
  })

  test('has names for its schemas and operations, by which a generated client publishes and reads files', async () => {
    const { json } = await api.request('GET', '/api/openapi.json')
    assert.deepEqual(
      ['Site', 'SiteSummary', 'Version', 'Domain', 'Error', 'UploadTarget', 'File'].filter(
        (name) => !(name in json.components.schemas),
      ),
      [],
    )
    const { key } = await api.account()
    const generated = new OpenAPIClientAxios({
      definition: json,
      axiosConfigDefaults: { headers: { Authorization: `Bearer ${key}` } },
    })
    const client = await generated.init<Record<string, GeneratedMethod>>()
    const page = '<h1>Generated</h1>'
    const files = [{ path: 'a/index.html', size: page.length, contentType: 'text/html' }]
    const { data: created } = await client.createSite!(null, { files })
    const [{ url, headers }] = created.upload.uploads
    const [, object, token, ct, exp] = /_upload\/(.*)\?token=(.*)&ct=(.*)&exp=(.*)$/.exec(url)!
    await client.uploadFile!(
      { path: decodeURIComponent(object!), token, ct: decodeURIComponent(ct!), exp },
      page,
      { headers },
    )
    const { slug } = created
    const { data: live } = await client.finalizeVersion!(slug, { versionId: created.upload.versionId })
    assert.equal(live.status, 'active')
    const read = await client.downloadFile!({ slug, path: 'a/index.html' })
    assert.equal(read.data, page)
    assert.deepEqual(
      (await client.getSite!(slug)).data.files.map(({ path }: { path: string }) => path),
      ['a/index.html'],
    )
  })

  test('documents every successful response as it is sent', async () => {
    await everyCall()
    const documented = operations(document).flatMap(([name, { responses }]) =>
      Object.keys(responses)
        .filter((status) => /^2/.test(status))
        .map((status) => `${name} ${status}`),
    )
    // Api checks each response against its schema; this test asserts that every documented one was received.
    const seen = api.conformance!.seen
    assert.deepEqual(
      documented.filter((name) => !seen.has(name)),
      [],
    )
  })
})

/** Calls every operation of the API successfully once. */
async function everyCall(): Promise<void> {
  const contents = { 'index.html': 'home', 'a.txt': 'a' }
  const { email, client, key } = await api.account()
  await client.me()
  await client.updateMe({ reminders: true })
  const { deviceCode, userCode } = await client.requestDeviceCode({ program: 'test', machine: 'here' })
  await client.deviceRequest(userCode)
  await client.decideDevice(userCode, true)
  await client.exchangeDeviceCode(deviceCode)
  const { id } = await client.createKey({ name: 'ci', scope: 'publish' })
  await client.keys()
  await client.revokeKey(id)
  const { slug, versionId } = await api.publish(client, contents)
  const trust = await client.createTrust({
    forge: 'github',
    repository: 'Ann/Bakery',
    site: slug,
    branch: 'main',
  })
  await client.trusts()
  await client.exchangeIdToken({ token: await jobToken(api, issuer), site: slug })
  await client.removeTrust(trust.id)
  await client.visits(slug)
  const { upload } = await api.update(client, slug, { ...contents, 'a.txt': 'b' })
  await client.refresh(slug, upload)
  await api.publish(client, { 'index.html': 'new' }, { slug })
  await client.list()
  await client.details(slug)
  await client.setMetadata(slug, { title: 'T' })
  await client.versions(slug)
  await client.previewLink(slug)
  await client.version(slug, versionId)
  await client.restore(slug, versionId)
  await client.putThumbnail(slug, versionId, webp(1, 1))
  await api.publish(client, contents, { slug, preview: 'pr-42' })
  await client.previews(slug)
  await client.preview(slug, 'pr-42')
  await client.promote(slug, 'pr-42')
  await client.deletePreview(slug, 'pr-42')
  await client.deleteVersion(slug, upload.versionId)
  for (const what of [`versions/${versionId}/thumbnail`, 'files/a.txt', 'archive'])
    await api.request('GET', `/api/v1/publish/${slug}/${what}`, { key })
  await client.addDomain('www.example.com', slug)
  await client.domains()
  await client.checkDomain('www.example.com')
  for await (const _ of client.domainEvents('www.example.com')) break
  api.conformance!.checkBytes('GET', '/api/v1/domains/www.example.com/events', 200, 'text/event-stream')
  await client.removeDomain('www.example.com')
  await client.checkName('bakery')
  const { slug: copy } = await client.renameSite((await client.duplicate(slug)).slug, 'bakery')
  await client.delete(copy)
  await client.undelete(copy)
  await client.addCollaborator(copy, 'colleague@example.com')
  await client.collaborators(copy)
  await client.removeCollaborator(copy, 'colleague@example.com')
  for (const path of ['/', `/${slug}`]) {
    const headers = { accept: 'application/json', 'content-type': 'text/html' }
    const { status, json } = await api.request('PUT', path, { key, headers, body: 'home' })
    api.conformance!.check('PUT', path, status, json)
  }
  const anonymous = await api.publish(api.anonymous, contents)
  await api.anonymous.claimPreview(anonymous.slug, anonymous.claimToken!)
  await client.claim(anonymous.slug, anonymous.claimToken!)
  const begun = await (await Program.register(api.baseUrl)).begin()
  const asked = { key, headers: { cookie: begun.cookie } }
  await api.request('GET', `/api/v1/authorizations/${begun.id}`, asked)
  await api.request('POST', `/api/v1/authorizations/${begun.id}`, { ...asked, json: { allow: true } })
  await client.revokeProgram((await client.programs()).programs[0]!.id)
  const { apiKey } = await client.newKey()
  await api.anonymous.requestCode(email)
  await api.anonymous.signIn(email, await api.running.mailedCode(email))
  const renewed = api.client(apiKey)
  await renewed.endSession((await renewed.sessions()).sessions[0]!.id)
  await renewed.endOtherSessions()
  await renewed.endKey()
  api.pass(HOUR_MS)
  await api.anonymous.requestCode(email)
  const named = await api.anonymous.verifyCode(
    email,
    await api.running.mailedCode(email),
    undefined,
    'laptop',
  )
  await api.client(named.apiKey).deleteAccount(email)
  await administration()
  await api.anonymous.signOut()
}

/** Calls every operation for administrators. */
async function administration(): Promise<void> {
  const { key } = await administrator(api)
  const { id } = (await (await api.operator()).store.read.accounts.byEmail((await api.account()).email))!
  for (const [method, path, json] of [
    ...[
      'overview',
      'activity',
      'sites',
      'accounts',
      'domains',
      'certificates',
      'sweeps',
      'nodes',
      'policies',
      'audit',
    ].map((name) => ['GET', `/api/admin/${name}`, undefined] as const),
    ['GET', '/api/admin/invitations'],
    ['POST', '/api/admin/invitations', { email: 'invited@example.com' }],
    ['DELETE', '/api/admin/invitations/invited@example.com'],
    ['PUT', `/api/admin/accounts/${id}/plan`, { plan: 'free', limits: { sites: 20 } }],
    ['PUT', `/api/admin/accounts/${id}/administrator`, { administrator: true }],
    ...(await moderation(id)),
  ] as const)
    assert.match(`${(await api.request(method, path, { key, json })).status}`, /^20[01]$/, path)
}

/** Calls of every operation that stops abuse, the last one about this account. */
async function moderation(accountId: string) {
  const { client } = await api.account()
  const { slug, siteUrl } = await api.publish(client, { 'index.html': 'x' })
  await api.anonymous.report({ url: siteUrl, reason: 'other', text: 'x', email: 'visitor@example.com' })
  const domain = 'released.example.com'
  const { store } = await api.operator()
  const row = domainRow(domain, { accountId, slug, status: 'active' })
  await store.write('durable', {}, (tx) => tx.domains.insert(row))
  const [site, account, blocks] = [
    `/api/admin/sites/${slug}`,
    `/api/admin/accounts/${accountId}`,
    '/api/admin/blocks',
  ]
  const block = { kind: 'network', value: '192.0.2.0/24' }
  const reason = { reason: 'phishing' }
  return [
    ['GET', site],
    ['GET', '/api/admin/reports'],
    ['PUT', `/api/admin/reports/${slug}`, { state: 'dismissed' }],
    ['PUT', `${site}/suspension`, { ...reason, publicReason: 'Deceptive site', note: 'ticket 7' }],
    ['DELETE', `${site}/suspension`],
    ['DELETE', '/api/admin/domains/released.example.com', reason],
    ['DELETE', site, reason],
    ['POST', blocks, { ...block, ...reason, seconds: 3600 }],
    ['GET', blocks],
    ['DELETE', blocks, block],
    ['PUT', `${account}/suspension`, reason],
    ['DELETE', `${account}/suspension`],
    ['DELETE', account, reason],
  ] as const
}
