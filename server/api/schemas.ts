import { MOST_FILES } from '../file.ts'
import { MOST_DESCRIPTION_CHARACTERS, MOST_TITLE_CHARACTERS, TIME_TO_LIVE } from '../viewer.ts'
import { bundleTarget } from './schemas/bundles.ts'
import { flag, list, object, orNull, type Schema, text, time, whole } from './schemas/schema.ts'
import { fileEntry, kind, siteUrl, slug, versionId } from './schemas/site.ts'

export type { Schema }

const status = { type: 'string', enum: ['pending', 'active'] }

const viewerFields = {
  title: orNull(text('Page title', { maxLength: MOST_TITLE_CHARACTERS })),
  description: orNull(text('Meta description', { maxLength: MOST_DESCRIPTION_CHARACTERS })),
  ogImagePath: orNull(text('Path of an image in the manifest')),
  spaMode: flag('Navigations that find no file get index.html'),
  ttlSeconds: orNull(
    whole('Seconds until an owned site expires, counted from finalize', {
      minimum: TIME_TO_LIVE.least,
      maximum: TIME_TO_LIVE.most,
    }),
  ),
}

const claimToken = text('The claim token of an anonymous site')

export const publishRequest = object(
  { files: list(fileEntry, 'The complete manifest', { minItems: 1, maxItems: MOST_FILES }) },
  {
    ...viewerFields,
    viewer: object({}, viewerFields, { description: 'The same fields; the top level wins' }),
    baseVersionId: text('Refuse with VERSION_CONFLICT unless this version is live'),
    claimToken,
  },
)

const uploadPlan = object(
  {
    versionId,
    uploads: list(
      object({
        path: text('The file'),
        method: text('PUT'),
        url: text('Where to send the bytes'),
        headers: { type: 'object', description: 'Headers to send', additionalProperties: { type: 'string' } },
      }),
      'What to upload',
    ),
    skipped: list(
      object({ path: text('The file'), reason: text('hash_match') }),
      'What need not be uploaded',
    ),
    finalizeUrl: text('Call this once everything is uploaded'),
    expiresInSeconds: whole('How long the upload addresses work'),
  },
  { bundle: bundleTarget },
)

const anonymousExtras = {
  claimToken: text('Shown once; needed to update or claim the site'),
  claimUrl: text('A page on which a person claims the site'),
  expiresAt: time('When the site expires unless it is claimed'),
  anonymous: flag('true'),
  warning: text('Says to save the claim token'),
}

export const refreshRequest = object({ versionId }, { claimToken })

const finalizeFields = {
  success: flag('true'),
  slug,
  siteUrl,
  status,
  versionId,
  currentVersionId: orNull(text('The live version')),
  previousVersionId: orNull(text('The version that was live before')),
  previewUrl: text('This version’s own address'),
}
const replayed = flag('The version was already finalized like this')
const warnings = list(
  object(
    { file: text('The file’s path'), message: text('What is odd, for a person') },
    { line: whole('From 1; absent when it is about the whole file', { minimum: 1 }) },
  ),
  'What is odd in the files and does not break the site; absent when nothing is',
)

export const finalizeRequest = object(
  { versionId },
  { live: flag('false keeps the version as a draft; default true') },
)
export const finalizeAnswer = object(finalizeFields, { replayed, warnings })
/** A manifest gets an upload plan; an archive is live at once and gets what finalize answers. */
const archiveFields = {
  ...finalizeFields,
  fileCount: whole('Files in the version'),
  totalBytes: whole('Bytes in the version'),
  skipped: list(
    object({ path: text('The entry'), reason: text('junk') }),
    'Litter of archivers that was left out',
  ),
}

export const refreshAnswer = object({ slug, siteUrl, upload: uploadPlan })
export const updateAnswer = object(
  { slug, siteUrl },
  { upload: uploadPlan, ...archiveFields, replayed, warnings },
)
export const createAnswer = object(
  { slug, siteUrl, status },
  { upload: uploadPlan, ...archiveFields, ...anonymousExtras, warnings },
)

/** What an archive request says in its query, where a JSON publish has a body. */
export const archiveQuery = object(
  {},
  {
    title: text('Page title', { maxLength: MOST_TITLE_CHARACTERS }),
    description: text('Meta description', { maxLength: MOST_DESCRIPTION_CHARACTERS }),
    ogImagePath: text('Path of an image in the archive'),
    spaMode: text('true or false', { enum: ['true', 'false'] }),
    ttlSeconds: text('Seconds until an owned site expires', { pattern: '^[0-9]{1,9}$' }),
    live: text('false keeps the version as a draft', { enum: ['true', 'false'] }),
    baseVersionId: text('Refuse unless this version is live'),
    claimToken,
  },
)

export const uploadQuery = object(
  {},
  {
    token: text('Signature of the target'),
    ct: text('Content type'),
    exp: text('Unix time at which the address ends'),
  },
)
export const uploadReceipt = object({
  path: text('The file'),
  size: whole('Bytes'),
  hash: text('SHA-256 in hex'),
})

const siteFields = {
  slug,
  siteUrl,
  status,
  versionId,
  currentVersionId: orNull(text('The live version')),
  pendingVersionId: orNull(text('The newest version that waits for its uploads')),
  createdAt: time('Creation'),
  updatedAt: time('Last change'),
  expiresAt: orNull(time('Expiry; null when the site does not expire')),
}

export const siteDetails = object({
  ...siteFields,
  title: orNull(text('Page title')),
  description: orNull(text('Meta description')),
  ogImagePath: orNull(text('Open Graph image')),
  spaMode: flag('Navigations that find no file get index.html'),
  hasPassword: flag('Visitors need a password'),
  files: list(fileEntry, 'The current version’s files'),
})

export const siteList = object({
  publishes: list(
    object({
      ...siteFields,
      title: orNull(text('Page title')),
      hasPassword: flag('Visitors need a password'),
      kind,
      imageUrl: orNull(text('Its Open Graph image, its icon, or the one image that it is; null without any')),
      fileCount: whole('Files'),
      totalBytes: whole('Bytes'),
    }),
    'Newest first',
  ),
  nextCursor: orNull(text('Give it as cursor for the next page')),
})
export const listQuery = object(
  {},
  {
    limit: text('1 to 100 sites a page, default 50', { pattern: '^([1-9][0-9]?|100)$' }),
    cursor: text('nextCursor of the page before', { maxLength: 200 }),
  },
)

export const metadataRequest = object(
  {},
  {
    ...viewerFields,
    password: orNull(
      text('Visitors are asked for it; null opens the site', { minLength: 1, maxLength: 200 }),
    ),
  },
)
export const duplicateAnswer = object({ slug, siteUrl, versionId, copiedFrom: text('The source'), status })
export const deleteAnswer = object({ slug, deleted: flag('true') })

export const claimRequest = object({ claimToken: text('The claim token', { maxLength: 100 }) })
export const claimAnswer = object(
  { success: flag('true'), slug, siteUrl, expiresAt: orNull(time('null')) },
  { alreadyOwned: flag('It was this account’s before') },
)
export const claimPreview = object({
  slug,
  siteUrl,
  status,
  title: orNull(text('Page title')),
  fileCount: whole('Files'),
  totalBytes: whole('Bytes'),
  createdAt: time('Creation'),
  expiresAt: orNull(time('Expiry')),
  claimed: flag('Somebody has claimed it'),
  currentVersionId: orNull(versionId),
})

const domainRecord = object({
  domain: text('Host name as IDNA A-labels'),
  siteSlug: slug,
  status,
  records: list(
    object({
      type: text('CNAME, ALIAS or TXT'),
      name: text('Name as DNS forms want it; @ is the root'),
      value: text('Value'),
      found: orNull(
        list(
          { type: 'string' },
          'What DNS answered at the last look; null before it, or when DNS could not say',
        ),
      ),
      right: orNull(flag('Whether that is as good as the value; null as above')),
    }),
    'What to enter in DNS',
  ),
  reason: orNull(text('Why it is pending or what is wrong: which record, what was found, what was expected')),
  redirectsTo: orNull(text('Where visitors are sent once that is active too; null when it shows the site')),
  alternate: orNull(
    text('Its www or its root, when that can be added too: on the same site it is not counted'),
  ),
  certificate: object({
    status: text('none, pending or active'),
    issuedAt: orNull(time('Since when there is the certificate')),
    expiresAt: orNull(time('End of the certificate')),
    renewsAt: orNull(time('When it is renewed or tried again')),
    problem: orNull(text('What went wrong at the last try')),
  }),
  createdAt: time('Creation'),
  verifiedAt: orNull(time('When the records were proven')),
  checkedAt: orNull(time('When the records were last looked up')),
  nextCheckAt: orNull(time('When they are looked up next; null when only asking for this record does that')),
})
export const domainRequest = object({
  domain: text('Host name', { maxLength: 300 }),
  siteSlug: text('The site', { maxLength: 100 }),
})
export const domainAnswer = domainRecord
export const domainList = object({ domains: list(domainRecord, 'Oldest first') })
export const deleteDomainAnswer = object({ domain: text('The name'), deleted: flag('true') })

/** Spec 2.8. */
export const errorAnswer = object(
  {
    error: text('What is wrong, for a person'),
    code: text('Machine code; it never changes'),
    status: whole('The HTTP status'),
  },
  { details: { description: 'What to point at' } },
)
