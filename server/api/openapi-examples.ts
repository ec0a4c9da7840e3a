import type { Schema } from './schemas/schema.ts'

// Examples of the OpenAPI document. test/api/openapi.test.ts validates each against its schema.

const SITE = 'https://amber-harbor-k7x3m2.sites.example.net/'
const VERSION = '01mv7c2k9d3q8r5t0w4x6y1zab'
const OLDER_VERSION = '01mv6b8h4f2n7p1s9v3e5g0kcd'
const CLAIM_TOKEN = 'c7f6a1d0-4b0e-4b8e-9d52-0f4a1c2b3d4e'

/** Example strings and numbers by the names of their fields. */
const VALUES: Record<string, string | number> = {
  slug: 'amber-harbor-k7x3m2',
  siteSlug: 'amber-harbor-k7x3m2',
  copiedFrom: 'amber-harbor-k7x3m2',
  siteUrl: SITE,
  versionId: VERSION,
  currentVersionId: VERSION,
  previousVersionId: OLDER_VERSION,
  comparedWith: OLDER_VERSION,
  previewUrl: `https://${VERSION}--amber-harbor-k7x3m2.sites.example.net/`,
  claimToken: CLAIM_TOKEN,
  path: 'index.html',
  size: 14,
  contentType: 'text/html; charset=utf-8',
  hash: 'b633a587c652d02386c4f16f8c6f6aab7352d97f16367c3c40576214372dd628',
  content: '<h1>Hello</h1>',
  contentBase64: 'iVBORw0KGgo=',
  title: 'My site',
  description: 'Pictures of harbors',
  ogImagePath: 'card.png',
  fileCount: 2,
  totalBytes: 1742,
  createdAt: '2026-11-22T16:04:11.000Z',
  updatedAt: '2026-11-22T16:04:11.000Z',
  addedAt: '2026-11-22T16:04:11.000Z',
  publishedAt: '2026-11-22T16:04:11.000Z',
  expiresAt: '2026-11-23T16:04:11.000Z',
  at: '2026-11-22T16:00:00.000Z',
  from: '2026-11-15T16:00:00.000Z',
  to: '2026-11-22T17:00:00.000Z',
  expiresInSeconds: 600,
  email: 'you@example.com',
  publishedBy: 'you@example.com',
  ownerEmail: 'you@example.com',
  code: 'ABCD-2345',
  attempt: 'Zb3kq0v7W1yHn5tR8uXc2A',
  apiKey: 'sl_live_00000000000000000000000000000000',
  message: 'A code was sent to you@example.com',
  warning: 'Store the key now: it is shown only once.',
  domain: 'www.example.com',
  id: 's3k8d0v7W1yHn5tR',
  browser: 'Firefox on Windows',
  name: '/',
  value: 'domains.sites.example.net',
  method: 'PUT',
  token: 'TOKEN',
  ct: 'text/html',
  exp: '1795367051',
  type: 'CNAME',
  reason: 'No CNAME or address record found for www.example.com (expected domains.sites.example.net)',
  resetsAt: '2026-11-22T17:00:00.000Z',
}

/** Fields that are null more often than not. */
const NULL_FIELDS = new Set([
  'pendingVersionId',
  'nextCursor',
  'redirectsTo',
  'alternate',
  'problem',
  'ogImagePath',
])

const PLAN = {
  versionId: VERSION,
  uploads: [
    {
      path: 'index.html',
      method: 'PUT',
      url: `https://slipway.example.net/api/v1/_upload/amber-harbor-k7x3m2/${VERSION}/index.html?token=TOKEN&ct=text%2Fhtml&exp=1795367051`,
      headers: { 'Content-Type': 'text/html; charset=utf-8' },
    },
  ],
  skipped: [],
  finalizeUrl: 'https://slipway.example.net/api/v1/publish/amber-harbor-k7x3m2/finalize',
  expiresInSeconds: 3600,
}

const LIVE = {
  success: true,
  slug: 'amber-harbor-k7x3m2',
  siteUrl: SITE,
  status: 'active',
  versionId: VERSION,
  currentVersionId: VERSION,
  previousVersionId: null,
  previewUrl: `https://${VERSION}--amber-harbor-k7x3m2.sites.example.net/`,
  fileCount: 2,
  totalBytes: 1742,
  excluded: [{ path: '.env', reason: 'secret' }],
}

const ANONYMOUS = {
  claimToken: CLAIM_TOKEN,
  claimUrl: `https://slipway.example.net/claim?slug=amber-harbor-k7x3m2&token=${CLAIM_TOKEN}`,
  expiresAt: '2026-11-23T16:04:11.000Z',
  anonymous: true,
  warning:
    'Save claimToken and claimUrl: they are shown only once, and the site expires unless you claim it.',
}

const DOCS = 'https://slipway.example.net/docs'

/** Responses that depend on the request, by the id of the operation. */
const RESPONSES: Record<string, Record<string, unknown>> = {
  createSite: {
    manifest: { slug: LIVE.slug, siteUrl: SITE, status: 'pending', upload: PLAN, ...ANONYMOUS },
    content: { ...LIVE, ...ANONYMOUS },
  },
  updateSite: {
    manifest: { slug: LIVE.slug, siteUrl: SITE, upload: PLAN },
    content: { ...LIVE, previousVersionId: OLDER_VERSION },
  },
  clientError: {
    clientError: {
      error: "files[0].path: must not contain a '..' segment ('../index.html')",
      code: 'VALIDATION_ERROR',
      status: 400,
      hint: 'Correct the fields in details and send the request again.',
      docs: `${DOCS}#VALIDATION_ERROR`,
      details: [{ field: 'files[0].path', message: "must not contain a '..' segment ('../index.html')" }],
    },
  },
  rateLimited: {
    rateLimited: {
      error: 'Hourly limit reached (60 requests). Try again at 2026-11-22T17:00:00.000Z.',
      code: 'RATE_LIMITED',
      status: 429,
      hint: 'Wait for the number of seconds in Retry-After. Published sites stay online.',
      docs: `${DOCS}#RATE_LIMITED`,
    },
  },
  serverError: {
    serverError: {
      error: 'The server is busy. Try again shortly.',
      code: 'UNAVAILABLE',
      status: 503,
      hint: 'Try again after the number of seconds in Retry-After.',
      docs: `${DOCS}#UNAVAILABLE`,
    },
  },
}

/** The examples of a response by name. */
export function responseExamples(id: string, shape: Schema): Record<string, { value: unknown }> {
  const values = RESPONSES[id] ?? { [id]: example(shape, '') }
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]))
}

/** An example with the required fields of a schema, or one field when none is required. */
export function example(schema: Schema, name: string): unknown {
  const { type, items, const: constant, enum: values, anyOf } = schema as Shape
  const types = [type].flat()
  if (constant !== undefined) return constant
  if (values) return values[0]
  if (anyOf && !type) return example(anyOf[0]!, name)
  if (types.includes('null') && NULL_FIELDS.has(name)) return null
  switch (types[0]) {
    case 'object':
      return exampleObject(schema)
    case 'array':
      return items ? [example(items, name)] : []
    case 'integer':
      return VALUES[name] ?? Math.max((schema.minimum as number | undefined) ?? 0, 1)
    case 'boolean':
      return true
    default:
      return VALUES[name] ?? name.toUpperCase()
  }
}

interface Shape {
  type?: string | string[]
  items?: Schema
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
}

function exampleObject(schema: Schema): Record<string, unknown> {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, Schema>
    required?: string[]
  }
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1)
  return Object.fromEntries(names.map((name) => [name, example(properties[name]!, name)]))
}
