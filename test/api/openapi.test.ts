import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { OpenAPIClientAxios } from 'openapi-client-axios'
import { ERROR_CODES } from '../../protocol/api/errors.schema.ts'
import { readConfig } from '../../server/config/settings.ts'
import { startApi } from './api.ts'
import type { ApiResponse } from './api-response.ts'
import { operations } from './document.ts'

const api = await startApi()
const document = api.conformance!.document

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
  test('has one schema for errors, with every code, and headers for limits and retries', () => {
    const limits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
    for (const [name, { responses }] of operations(document)) {
      for (const [status, { headers, content }] of Object.entries(responses)) {
        const retry = ['429', '503'].includes(status) ? ['Retry-After'] : []
        assert.deepEqual(Object.keys(headers ?? {}), [...limits, ...retry], `${name} ${status}`)
        if (status.startsWith('2')) continue
        const { properties, required } = content!['application/json']!.schema as ErrorSchema
        assert.deepEqual(properties.code.enum, Object.keys(ERROR_CODES))
        assert.deepEqual(required, ['error', 'code', 'status', 'hint', 'docs'])
      }
      assert.deepEqual(
        Object.keys(responses).filter((status) => !/^[2-5]\d\d$/.test(status)),
        [],
        name,
      )
      for (const status of ['400', '403', '500', '503']) assert.ok(responses[status], `${name} ${status}`)
    }
  })

  test('says of each operation what its summary does not, and declares its tag', () => {
    const tags = document.tags.map(({ name }) => name)
    for (const [name, { summary, description, tags: own, parameters = [] }] of operations(document)) {
      assert.ok(description && description !== summary, name)
      assert.ok(tags.includes(own![0]!), `${name}: ${own}`)
      const takesToken = parameters.some(({ name }) => name === 'x-slipway-claim-token')
      assert.equal(description.includes('or the claim token'), takesToken, name)
    }
  })

  test('has the types of the values that the text of a query stands for', () => {
    const types = operations(document).flatMap(([, { parameters = [] }]) =>
      parameters.flatMap(({ in: place, name, schema }) => {
        const { type } = schema as { type: string }
        return place === 'query' && type !== 'string' ? [`${name} ${type}`] : []
      }),
    )
    assert.deepEqual([...new Set(types)].sort(), [
      ...['deleted boolean', 'ifChanged boolean', 'keepTopFolder boolean', 'limit integer', 'live boolean'],
      ...[
        'liveReload boolean',
        'merge boolean',
        'permanent boolean',
        'spaMode boolean',
        'ttlSeconds integer',
        'update boolean',
      ],
    ])
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
    const named = JSON.stringify([...examples.values()]).matchAll(/"(\w+)":\[?"\1"/gi)
    assert.deepEqual([...named].map(String), [], 'an example in protocol/api/examples.ts is missing')
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
    const [{ url }] = created.upload.uploads
    const [, object, token, ct, exp] = /_upload\/(.*)\?token=(.*)&ct=(.*)&exp=(.*)$/.exec(url)!
    // Of some generated clients, the Content-Type is the media range of the document.
    const headers = { 'Content-Type': '*/*' }
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
    const paths = (await client.getSite!(slug)).data.files.map(({ path }: { path: string }) => path)
    assert.deepEqual(paths, ['a/index.html'])
  })
})
