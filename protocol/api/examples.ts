import { METADATA_TEXTS } from './publish.ts'
import type { Schema } from './schema.ts'

// Examples of the OpenAPI document. test/api/openapi.test.ts validates each against its schema.

const SITE = 'https://amber-harbor-k7x3m2.sites.example.net/'
const VERSION = '01mv7c2k9d3q8r5t0w4x6y1zab'
const OLDER_VERSION = '01mv6b8h4f2n7p1s9v3e5g0kcd'
const CLAIM_TOKEN = '12345678-4b0e-4b8e-9d52-0f4a1c2b3d4e'

/** `Type.field` is the field in the schema of this name, before `field`. The limits are the default ones. */
const EXAMPLES: readonly (readonly [value: string | number, fields: string])[] = [
  ['amber-harbor-k7x3m2', 'slug siteSlug copiedFrom formerSlug'],
  [SITE, 'siteUrl ReportRequest.url ReportedSite.url'],
  [VERSION, 'versionId currentVersionId ReviewThread.id ReviewComment.id ReviewPlacements.placed'],
  ['active', 'status'],
  [OLDER_VERSION, 'previousVersionId comparedWith ReviewPlacements.missing'],
  [`https://${VERSION}--amber-harbor-k7x3m2.sites.example.net/`, 'previewUrl'],
  [CLAIM_TOKEN, 'claimToken'],
  ['index.html', 'path VersionDetails.changed'],
  [14, 'size'],
  ['text/html; charset=utf-8', 'contentType'],
  ['b633a587c652d02386c4f16f8c6f6aab7352d97f16367c3c40576214372dd628', 'hash contentHash'],
  ['<h1>Hello</h1>', 'content'],
  ['iVBORw0KGgo=', 'contentBase64'],
  ...Object.entries(METADATA_TEXTS).map(([field, { words }]) => [words, field] as const),
  ['My site', 'title'],
  ['card.png', 'ogImagePath'],
  [2, 'fileCount'],
  [1742, 'totalBytes'],
  ['2026-11-22T16:04:11.000Z', 'createdAt updatedAt addedAt publishedAt changedAt startedAt since lastAt'],
  ['2026-11-23T16:04:11.000Z', 'expiresAt'],
  ['2026-11-22T16:00:00.000Z', 'at'],
  ['2026-11-21T17:00:00.000Z', 'from'],
  ['2026-11-22T17:00:00.000Z', 'to resetsAt seenAt'],
  ['2026-11-22T16:05:40.000Z', 'verifiedAt checkedAt'],
  ['2026-11-22T17:05:40.000Z', 'nextCheckAt'],
  [
    '2026-12-22T16:04:11.000Z',
    'redirectsUntil deletedUntil Session.expiresAt Preview.expiresAt PreviewAddress.expiresAt',
  ],
  ['2026-11-22T16:14:11.000Z', 'PreviewLink.expiresAt DeviceRequest.expiresAt'],
  ['2027-02-20T15:06:02.000Z', 'Certificate.expiresAt'],
  ['2026-11-22T16:06:02.000Z', 'issuedAt'],
  ['2027-01-21T16:06:02.000Z', 'renewsAt nextStepAt'],
  ['UTC', 'timeZone'],
  [600, 'expiresInSeconds'],
  [60, 'requestsPerHour'],
  [1, 'domains heldSites sites'],
  [1000, 'filesPerSite'],
  [5_368_709_120, 'fileBytes'],
  [10_737_418_240, 'siteBytes'],
  [10, 'versionsKept draftsKept'],
  [50, 'previews'],
  [10_000, 'Limits.sites'],
  [107_374_182_400, 'Limits.bytes'],
  [5226, 'heldBytes'],
  [2_592_000, 'draftLifetimeSeconds'],
  [3, 'requestsThisHour'],
  ['you@example.com', 'email publishedBy ownerEmail ReviewLink.createdBy CreatedReviewLink.createdBy actor'],
  ['slipway-cli/1.4.0', 'publishedClient'],
  ['ABCD-2345', 'code userCode'],
  ['550 5.1.1 mailbox unavailable', 'reply'],
  ['Zb3kq0v7W1yHn5tR8uXc2A', 'attempt'],
  ['sl_live_00000000000000000000000000000000', 'apiKey'],
  ['Free', 'planName'],
  ['chat.example.com', 'returnsTo'],
  ['https://slipway.example.net/oauth/authorize/s3k8d0v7W1yHn5tR', 'AuthorizationResult.url'],
  ['New menu', 'message'],
  ['A sign-in code was sent, if the address can receive email', 'CodeResponse.message'],
  ['Welcome to Slipway', 'SignInResponse.message'],
  ['Save this key now: it is shown only once. Any earlier key no longer works.', 'warning'],
  ['www.example.com', 'domain hosts'],
  ['s3k8d0v7W1yHn5tR', 'id'],
  ['Firefox on Windows', 'browser'],
  ['CI of bakery', 'Key.name CreatedKey.name NewKeyRequest.name'],
  [
    'bakery',
    'Key.sites CreatedKey.sites Trust.site NewTrustRequest.site ExchangeRequest.site ExchangeResponse.site name RenamedSite.slug',
  ],
  ['Save this key now: it is shown only once.', 'CreatedKey.warning'],
  ['publish', 'scope'],
  ['Slipway command line', 'program'],
  ['ann@desk', 'machine keyName'],
  ['192.0.2.0/24', 'ownNetwork network BlockRequest.value BlockTarget.value Block.value'],
  ['github', 'forge'],
  ['https://token.actions.githubusercontent.com', 'issuer'],
  ['ann/bakery', 'repository'],
  ['700123456', 'repositoryId'],
  ['eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL3Rva2Vu.c2lnbmF0dXJl', 'ExchangeRequest.token'],
  ['main', 'branch'],
  ['v*', 'tag'],
  ['production', 'environment'],
  ['.github/workflows/deploy.yml', 'workflow'],
  ['2026-11-22T16:40:00.000Z', 'lastUsedAt'],
  ['pr-42', 'preview openReview Preview.name PreviewAddress.name DeletedPreview.name'],
  ['The second button is too small', 'ReviewComment.text ReviewThreadRequest.text'],
  ['It has 44 pixels now', 'ReviewThreadChange.text'],
  ['/menu.html', 'ReviewPlace.path'],
  ['Order', 'ReviewPlace.text'],
  ['Ann', 'Reviewer.name'],
  ['main > button:nth-of-type(2)', 'selector'],
  ['Bread and cakes', 'before'],
  ['Opening hours', 'after'],
  [`${VERSION}.1795367051000.1.240.`, 'revision'],
  ['https://slipway.example.net/review#TOKEN', 'CreatedReviewLink.url'],
  ['https://pr-42--amber-harbor-k7x3m2.sites.example.net/', 'Preview.url PreviewAddress.url'],
  ['www', 'DnsRecord.name'],
  ['/', 'RankedName.name'],
  ['colleague@example.com', 'Collaborator.email CollaboratorRequest.email RemovedCollaborator.email target'],
  ['https://bakery.sites.example.net/', 'RenamedSite.siteUrl'],
  ['quiet-meadow-p4w9z6', 'DuplicateResponse.slug'],
  ['https://quiet-meadow-p4w9z6.sites.example.net/', 'DuplicateResponse.siteUrl'],
  ['https://p-5f2k8d0v7w1yhn5t--amber-harbor-k7x3m2.sites.example.net/', 'url'],
  [`${SITE}favicon.svg`, 'iconUrl'],
  [`${SITE}card.png`, 'imageUrl'],
  [
    `https://slipway.example.net/api/v1/publish/amber-harbor-k7x3m2/versions/${VERSION}/thumbnail?v=3f9a1c2b`,
    'thumbnailUrl',
  ],
  ['menu.html', 'VersionDetails.added'],
  ['old.html', 'VersionDetails.removed'],
  ['domains.sites.example.net', 'value found'],
  ['PUT', 'method'],
  ['TOKEN', 'token'],
  ['text/html', 'ct'],
  ['1795367051', 'exp'],
  ['CNAME', 'type'],
  ['1.4.0', 'release'],
  ['node-1:8080', 'host'],
  ['2026-11-22T16:55:00.000Z', 'countedAt'],
  [12, 'durationMs'],
  ['free', 'plan'],
  ['administrator.add', 'action'],
  ['It imitates the page of a bank', 'reason'],
  ['Deceptive site', 'publicReason'],
  ['Reported by the bank, ticket 1742', 'note'],
  ['2026-11-22T15:04:11.000Z', 'firstAt'],
  ['Your sites are offline.', 'AccountModerated.message'],
  [86_400, 'seconds'],
  ['phishing', 'ReportRequest.reason ReportedSite.reason'],
  ['It asks for card numbers', 'text'],
  ['Uploads pause on Sunday from 6:00 to 6:30 UTC', 'BannerRequest.text BannerResponse.text'],
  ['info', 'level'],
  ['https://status.example.net/', 'link'],
  ['2026-11-29T06:30:00.000Z', 'until'],
]

const VALUES: Record<string, string | number> = Object.fromEntries(
  EXAMPLES.flatMap(([value, fields]) => fields.split(' ').map((field) => [field, value])),
)

const NULL_FIELDS =
  'lapsesAt error failedAt key pendingVersionId nextCursor redirectsTo alternate problem reason ogImagePath expiresAt deletedAt decidedAt'

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
  if (types.includes('null') && NULL_FIELDS.split(' ').includes(name) && !isSpecific) return null
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
  const shape = schema as { properties?: Record<string, Schema>; required?: string[]; title?: string }
  const { properties = {}, required = [], title } = shape
  const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1)
  return Object.fromEntries(names.map((name) => [name, example(properties[name]!, name, title)]))
}
