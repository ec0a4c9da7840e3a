import type { Schema } from '../../protocol/api/schema.ts'

// Examples of the OpenAPI document. test/api/openapi.test.ts validates each against its schema.

const SITE = 'https://amber-harbor-k7x3m2.sites.example.net/'
const VERSION = '01mv7c2k9d3q8r5t0w4x6y1zab'
const OLDER_VERSION = '01mv6b8h4f2n7p1s9v3e5g0kcd'
const CLAIM_TOKEN = 'c7f6a1d0-4b0e-4b8e-9d52-0f4a1c2b3d4e'

/** `Type.field` is the field in the schema of this name, before `field`. The limits are the default ones. */
const VALUES: Record<string, string | number> = {
  slug: 'amber-harbor-k7x3m2',
  siteSlug: 'amber-harbor-k7x3m2',
  copiedFrom: 'amber-harbor-k7x3m2',
  siteUrl: SITE,
  versionId: VERSION,
  status: 'active',
  currentVersionId: VERSION,
  previousVersionId: OLDER_VERSION,
  formerSlug: 'amber-harbor-k7x3m2',
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
  from: '2026-11-21T17:00:00.000Z',
  to: '2026-11-22T17:00:00.000Z',
  verifiedAt: '2026-11-22T16:05:40.000Z',
  checkedAt: '2026-11-22T16:05:40.000Z',
  nextCheckAt: '2026-11-22T17:05:40.000Z',
  redirectsUntil: '2026-12-22T16:04:11.000Z',
  'Session.expiresAt': '2026-12-22T16:04:11.000Z',
  'PreviewLink.expiresAt': '2026-11-22T16:14:11.000Z',
  'Certificate.expiresAt': '2027-02-20T15:06:02.000Z',
  issuedAt: '2026-11-22T16:06:02.000Z',
  renewsAt: '2027-01-21T16:06:02.000Z',
  timeZone: 'UTC',
  expiresInSeconds: 600,
  requestsPerHour: 60,
  domains: 1,
  filesPerSite: 1000,
  fileBytes: 5_368_709_120,
  siteBytes: 10_737_418_240,
  versionsKept: 10,
  previews: 50,
  'Limits.sites': 10_000,
  'Limits.bytes': 107_374_182_400,
  heldSites: 1,
  heldBytes: 5226,
  draftsKept: 10,
  draftLifetimeSeconds: 2_592_000,
  requestsThisHour: 3,
  sites: 1,
  email: 'you@example.com',
  publishedBy: 'you@example.com',
  publishedClient: 'slipway-cli/1.4.0',
  ownerEmail: 'you@example.com',
  code: 'ABCD-2345',
  reply: '550 5.1.1 mailbox unavailable',
  attempt: 'Zb3kq0v7W1yHn5tR8uXc2A',
  apiKey: 'sl_live_00000000000000000000000000000000',
  planName: 'Free',
  returnsTo: 'chat.example.com',
  'AuthorizationResult.url': 'https://slipway.example.net/oauth/authorize/s3k8d0v7W1yHn5tR',
  message: 'New menu',
  'CodeResponse.message': 'A sign-in code was sent, if the address can receive email',
  'SignInResponse.message': 'Welcome to Slipway',
  warning: 'Save this key now: it is shown only once. Any earlier key no longer works.',
  domain: 'www.example.com',
  id: 's3k8d0v7W1yHn5tR',
  browser: 'Firefox on Windows',
  'Key.name': 'CI of bakery',
  'Key.sites': 'bakery',
  'CreatedKey.name': 'CI of bakery',
  'CreatedKey.sites': 'bakery',
  'CreatedKey.warning': 'Save this key now: it is shown only once.',
  'NewKeyRequest.name': 'CI of bakery',
  scope: 'publish',
  program: 'Slipway command line',
  machine: 'ann@desk',
  keyName: 'ann@desk',
  userCode: 'ABCD-2345',
  ownNetwork: '192.0.2.0/24',
  'DeviceRequest.expiresAt': '2026-11-22T16:14:11.000Z',
  forge: 'github',
  issuer: 'https://token.actions.githubusercontent.com',
  repository: 'ann/bakery',
  repositoryId: '700123456',
  'Trust.site': 'bakery',
  'NewTrustRequest.site': 'bakery',
  'ExchangeRequest.site': 'bakery',
  'ExchangeResponse.site': 'bakery',
  'ExchangeRequest.token': 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL3Rva2Vu.c2lnbmF0dXJl',
  branch: 'main',
  tag: 'v*',
  environment: 'production',
  workflow: '.github/workflows/deploy.yml',
  lastUsedAt: '2026-11-22T16:40:00.000Z',
  name: 'bakery',
  preview: 'pr-42',
  'ReviewThread.id': VERSION,
  'ReviewComment.id': VERSION,
  'ReviewComment.text': 'The second button is too small',
  'ReviewThreadRequest.text': 'The second button is too small',
  'ReviewThreadChange.text': 'It has 44 pixels now',
  'ReviewPlace.path': '/menu.html',
  'ReviewPlace.text': 'Order',
  'Reviewer.name': 'Ann',
  'ReviewPlacements.placed': VERSION,
  'ReviewPlacements.missing': OLDER_VERSION,
  selector: 'main > button:nth-of-type(2)',
  before: 'Bread and cakes',
  after: 'Opening hours',
  revision: `${VERSION}.1795367051000.1.240.`,
  contentHash: 'b633a587c652d02386c4f16f8c6f6aab7352d97f16367c3c40576214372dd628',
  'ReviewLink.createdBy': 'you@example.com',
  'CreatedReviewLink.createdBy': 'you@example.com',
  'CreatedReviewLink.url': 'https://slipway.example.net/review#TOKEN',
  changedAt: '2026-11-22T16:04:11.000Z',
  'Preview.name': 'pr-42',
  'Preview.url': 'https://pr-42--amber-harbor-k7x3m2.sites.example.net/',
  'Preview.expiresAt': '2026-12-22T16:04:11.000Z',
  'PreviewAddress.name': 'pr-42',
  'PreviewAddress.url': 'https://pr-42--amber-harbor-k7x3m2.sites.example.net/',
  'PreviewAddress.expiresAt': '2026-12-22T16:04:11.000Z',
  'DeletedPreview.name': 'pr-42',
  'DnsRecord.name': 'www',
  'RankedName.name': '/',
  'Collaborator.email': 'colleague@example.com',
  'CollaboratorRequest.email': 'colleague@example.com',
  'RemovedCollaborator.email': 'colleague@example.com',
  'RenamedSite.slug': 'bakery',
  'RenamedSite.siteUrl': 'https://bakery.sites.example.net/',
  'DuplicateResponse.slug': 'quiet-meadow-p4w9z6',
  'DuplicateResponse.siteUrl': 'https://quiet-meadow-p4w9z6.sites.example.net/',
  url: 'https://p-5f2k8d0v7w1yhn5t--amber-harbor-k7x3m2.sites.example.net/',
  iconUrl: `${SITE}favicon.svg`,
  imageUrl: `${SITE}card.png`,
  thumbnailUrl: `https://slipway.example.net/api/v1/publish/amber-harbor-k7x3m2/versions/${VERSION}/thumbnail?v=3f9a1c2b`,
  'VersionDetails.added': 'menu.html',
  'VersionDetails.changed': 'index.html',
  'VersionDetails.removed': 'old.html',
  value: 'domains.sites.example.net',
  found: 'domains.sites.example.net',
  method: 'PUT',
  token: 'TOKEN',
  ct: 'text/html',
  exp: '1795367051',
  type: 'CNAME',
  resetsAt: '2026-11-22T17:00:00.000Z',
  actor: 'you@example.com',
  release: '1.4.0',
  host: 'node-1:8080',
  seenAt: '2026-11-22T17:00:00.000Z',
  startedAt: '2026-11-22T16:04:11.000Z',
  nextStepAt: '2027-01-21T16:06:02.000Z',
  countedAt: '2026-11-22T16:55:00.000Z',
  durationMs: 12,
  plan: 'free',
  network: '192.0.2.0/24',
  action: 'administrator.add',
  target: 'colleague@example.com',
  reason: 'It imitates the page of a bank',
  publicReason: 'Deceptive site',
  note: 'Reported by the bank, ticket 1742',
  since: '2026-11-22T16:04:11.000Z',
  firstAt: '2026-11-22T15:04:11.000Z',
  lastAt: '2026-11-22T16:04:11.000Z',
  hosts: 'www.example.com',
  'AccountModerated.message': 'Your sites are offline.',
  'BlockRequest.value': '192.0.2.0/24',
  'BlockTarget.value': '192.0.2.0/24',
  'Block.value': '192.0.2.0/24',
  seconds: 86_400,
  'ReportRequest.url': SITE,
  'ReportRequest.reason': 'phishing',
  'ReportedSite.url': SITE,
  'ReportedSite.reason': 'phishing',
  text: 'It asks for card numbers',
  'BannerRequest.text': 'Uploads pause on Sunday from 6:00 to 6:30 UTC',
  'BannerResponse.text': 'Uploads pause on Sunday from 6:00 to 6:30 UTC',
  level: 'info',
  link: 'https://status.example.net/',
  until: '2026-11-29T06:30:00.000Z',
}

const NULL_FIELDS = new Set([
  'error',
  'failedAt',
  'key',
  'pendingVersionId',
  'Version.preview',
  'nextCursor',
  'redirectsTo',
  'alternate',
  'problem',
  'reason',
  'ogImagePath',
  'expiresAt',
  'deletedAt',
  'decidedAt',
])

const PLAN = {
  versionId: VERSION,
  uploads: [
    {
      path: 'index.html',
      method: 'PUT',
      url: `https://slipway.example.net/api/v1/_upload/amber-harbor-k7x3m2/${VERSION}/index.html?token=TOKEN&ct=text%2Fhtml%3B%20charset%3Dutf-8&exp=1795367051`,
      headers: { 'Content-Type': 'text/html; charset=utf-8' },
    },
  ],
  bundle: {
    method: 'PUT',
    url: `https://slipway.example.net/api/v1/_upload/amber-harbor-k7x3m2/${VERSION}?token=TOKEN&exp=1795367051`,
    headers: { 'Content-Type': 'application/x-tar' },
    maxBytes: 33_554_432,
  },
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
  title: 'My site',
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

const FILE_CONTENTS = { files: [{ path: 'index.html', content: '<h1>Hello</h1>' }] }

/** Further requests by the id of the operation and a name. */
const REQUESTS: Record<string, Record<string, unknown>> = {
  createSite: { content: FILE_CONTENTS },
  updateSite: { content: { ...FILE_CONTENTS, merge: true } },
}

const REMOVAL = { files: 1, liveFiles: 3, index: false }
const CHANGES = { added: 0, changed: 1, removed: 1 }

/** Responses that depend on the request, by the id of the operation. */
const RESPONSES: Record<string, Record<string, unknown>> = {
  createSite: {
    manifest: { slug: LIVE.slug, siteUrl: SITE, status: 'pending', upload: PLAN, ...ANONYMOUS },
    content: { ...LIVE, ...ANONYMOUS },
  },
  updateSite: {
    manifest: { slug: LIVE.slug, siteUrl: SITE, upload: PLAN, changes: CHANGES },
    content: { ...LIVE, previousVersionId: OLDER_VERSION },
  },
  uploadSite: { uploadSite: { ...LIVE, ...ANONYMOUS } },
  uploadVersion: {
    uploadVersion: { ...LIVE, previousVersionId: OLDER_VERSION, removal: REMOVAL, changes: CHANGES },
  },
  refreshUploads: { refreshUploads: { slug: LIVE.slug, siteUrl: SITE, upload: PLAN, changes: CHANGES } },
}

export function requestExamples(id: string, shape: Schema): Record<string, { value: unknown }> {
  const { [id]: others } = REQUESTS
  return toExamples({ [others ? 'manifest' : id]: example(shape, ''), ...others })
}

export function responseExamples(id: string, shape: Schema): Record<string, { value: unknown }> {
  return toExamples(RESPONSES[id] ?? { [id]: example(shape, '') })
}

function toExamples(values: Record<string, unknown>): Record<string, { value: unknown }> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]))
}

/**
 * The required fields of a schema, or one field when none is required. `name` is the field that has the schema, and
 * `owner` the name of the schema that has the field.
 */
export function example(schema: Schema, name: string, owner = ''): unknown {
  const { type, items, const: constant, enum: values, anyOf, variants } = schema as Shape
  if (variants) return example(variants[0]!, name, owner)
  const types = [type].flat()
  if (constant !== undefined) return constant
  const known = VALUES[`${owner}.${name}`] ?? VALUES[name]
  if (values) return values.includes(known) ? known : values[0]
  if (anyOf && !type) return example(anyOf[0]!, name, owner)
  const isSpecific = `${owner}.${name}` in VALUES
  if (types.includes('null') && NULL_FIELDS.has(name) && !isSpecific) return null
  switch (types[0]) {
    case 'object':
      return exampleObject(schema)
    case 'array':
      return items ? [example(items, name, owner)] : []
    case 'integer':
    case 'number':
      return known ?? Math.max((schema.minimum as number | undefined) ?? 0, 1)
    case 'boolean':
      return true
    default:
      return known ?? name.toUpperCase()
  }
}

interface Shape {
  type?: string | string[]
  items?: Schema
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  variants?: Schema[]
}

function exampleObject(schema: Schema): Record<string, unknown> {
  const {
    properties = {},
    required = [],
    title,
  } = schema as {
    properties?: Record<string, Schema>
    required?: string[]
    title?: string
  }
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1)
  return Object.fromEntries(names.map((name) => [name, example(properties[name]!, name, title)]))
}
