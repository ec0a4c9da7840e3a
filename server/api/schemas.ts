import { MAX_FILES } from '../../protocol/manifest/manifest.ts'
import { MAX_PATH_LENGTH } from '../../protocol/manifest/paths.ts'
import { MAX_DESCRIPTION_LENGTH, MAX_TITLE_LENGTH, TTL_SECONDS } from '../sites/site-metadata.ts'
import { CLAIM_TOKEN_HEADER } from './claim-token.ts'
import { bundleTarget } from './schemas/bundles.ts'
import { bool, integer, list, nullable, object, type Schema, text, time } from './schemas/schema.ts'
import { fileEntry, kind, siteUrl, slug, versionId } from './schemas/site.ts'

export type { Schema }

const status = { type: 'string', enum: ['pending', 'active'] }

const viewerFields = {
  title: nullable(text('Page title', { maxLength: MAX_TITLE_LENGTH })),
  description: nullable(text('Meta description', { maxLength: MAX_DESCRIPTION_LENGTH })),
  ogImagePath: nullable(text('Path of an image in the manifest')),
  spaMode: bool('Navigations that find no file get index.html'),
  ttlSeconds: nullable(
    integer('Seconds until an owned site expires, counted from finalize', {
      minimum: TTL_SECONDS.min,
      maximum: TTL_SECONDS.max,
    }),
  ),
}

const claimToken = text('The claim token of an anonymous site')

export const publishRequest = object(
  {
    files: list(fileEntry, 'The complete manifest; with merge, what it adds and replaces', {
      maxItems: MAX_FILES,
    }),
  },
  {
    ...viewerFields,
    viewer: object({}, viewerFields, { description: 'The same fields; the top level wins' }),
    merge: bool('Of an update: lay the files over those of the live version, which becomes the base'),
    delete: list(
      text('Path of a file of the live version', { maxLength: MAX_PATH_LENGTH }),
      'With merge: files of the live version that the new one does not have',
      { maxItems: MAX_FILES },
    ),
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
    expiresInSeconds: integer('How long the upload addresses work'),
  },
  { bundle: bundleTarget },
)

const anonymousExtras = {
  claimToken: text('Shown once; needed to update or claim the site'),
  claimUrl: text('A page on which a person claims the site'),
  expiresAt: time('When the site expires unless it is claimed'),
  anonymous: bool('true'),
  warning: text('Says to save the claim token'),
}

export const refreshRequest = object({ versionId }, { claimToken })

const finalizeFields = {
  success: bool('true'),
  slug,
  siteUrl,
  status,
  versionId,
  currentVersionId: nullable(text('The live version')),
  previousVersionId: nullable(text('The version that was live before')),
  previewUrl: text('This version’s own address'),
}
const replayed = bool('The version was already finalized like this')
const unchanged = bool('The version equals the live one and was dropped; the ids are those of the live one')
const warnings = list(
  object(
    { file: text('The file’s path'), message: text('What is odd, for a person') },
    { line: integer('From 1; absent when it is about the whole file', { minimum: 1 }) },
  ),
  'What is odd in the files and does not break the site; absent when nothing is',
)

export const finalizeRequest = object(
  { versionId },
  {
    live: bool('false keeps the version as a draft; default true'),
    claimToken: text('The claim token of an anonymous site; needed to make a draft of it live'),
    ifChanged: bool('Drop the version if its files, rules and settings equal those of the live version'),
  },
)
export const finalizeResponse = object(finalizeFields, { replayed, unchanged, warnings })
/** A manifest gets an upload plan; an archive goes live immediately and gets the response of finalize. */
const archiveFields = {
  ...finalizeFields,
  fileCount: integer('Files in the version'),
  totalBytes: integer('Bytes in the version'),
  excluded: list(
    object({
      path: text('The file, or the folder with a final slash'),
      reason: text('dotfile, secret, dependencies, system, repository or empty'),
    }),
    'Files of the archive that were not published',
  ),
  removedFolder: text('The top folder that all files shared; its contents are the site'),
}

const removal = object(
  {
    files: integer('Files of the live version that this version does not have'),
    liveFiles: integer('Files of the live version'),
    index: bool('Whether the top index.html is one of the removed files'),
  },
  {},
  { description: 'What the version removes from the site; absent when it removes nothing' },
)
export const refreshResponse = object({ slug, siteUrl, upload: uploadPlan }, { removal })
export const updateResponse = object(
  { slug, siteUrl },
  { upload: uploadPlan, removal, ...archiveFields, replayed, unchanged, warnings },
)
export const createResponse = object(
  { slug, siteUrl, status },
  { upload: uploadPlan, ...archiveFields, ...anonymousExtras, warnings },
)

/** Query parameters of an archive request, for which a JSON publish has a body. */
export const archiveQuery = object(
  {},
  {
    title: text('Page title', { maxLength: MAX_TITLE_LENGTH }),
    description: text('Meta description', { maxLength: MAX_DESCRIPTION_LENGTH }),
    ogImagePath: text('Path of an image in the archive'),
    spaMode: text('true or false', { enum: ['true', 'false'] }),
    ttlSeconds: text('Seconds until an owned site expires', { pattern: '^[0-9]{1,9}$' }),
    live: text('false keeps the version as a draft', { enum: ['true', 'false'] }),
    include: text('dotfiles, secrets, or both with a comma: files that are excluded by default'),
    merge: text('true lays the files over those of the live version', { enum: ['true', 'false'] }),
    keepTopFolder: text('true keeps a top folder that all files share; merge keeps it by default', {
      enum: ['true', 'false'],
    }),
    baseVersionId: text('Refuse unless this version is live'),
    ifChanged: text('true drops the version if it equals the live one', { enum: ['true', 'false'] }),
    claimToken,
  },
)

/** Where the claim token may stand in place of the body or query: addresses are logged, headers are not. */
export const claimTokenHeader = object(
  {},
  { [CLAIM_TOKEN_HEADER]: text('The claim token of an anonymous site', { maxLength: 100 }) },
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
  size: integer('Bytes'),
  hash: text('SHA-256 in hex'),
})

const siteFields = {
  slug,
  siteUrl,
  status,
  versionId,
  currentVersionId: nullable(text('The live version')),
  pendingVersionId: nullable(text('The newest version that waits for its uploads')),
  createdAt: time('Creation'),
  updatedAt: time('Last change'),
  expiresAt: nullable(time('Expiry; null when the site does not expire')),
}

export const siteDetails = object({
  ...siteFields,
  title: nullable(text('Page title')),
  description: nullable(text('Meta description')),
  ogImagePath: nullable(text('Open Graph image')),
  spaMode: bool('Navigations that find no file get index.html'),
  hasPassword: bool('Visitors need a password'),
  files: list(fileEntry, 'The current version’s files'),
})

export const siteList = object({
  publishes: list(
    object({
      ...siteFields,
      title: nullable(text('Page title')),
      hasPassword: bool('Visitors need a password'),
      kind,
      imageUrl: nullable(
        text('Its Open Graph image, its icon, or the one image that it is; null without any'),
      ),
      fileCount: integer('Files'),
      totalBytes: integer('Bytes'),
    }),
    'Newest first',
  ),
  nextCursor: nullable(text('Give it as cursor for the next page')),
})
export const listQuery = object(
  {},
  {
    limit: text('1 to 100 sites a page, default 50', { pattern: '^([1-9][0-9]?|100)$' }),
    cursor: text('nextCursor of the page before', { maxLength: 200 }),
    q: text('Words that all occur in the title or the slug', { maxLength: 100 }),
  },
)

export const metadataRequest = object(
  {},
  {
    ...viewerFields,
    password: nullable(
      text('Visitors are asked for it; null opens the site', { minLength: 1, maxLength: 200 }),
    ),
  },
)
export const duplicateResponse = object({ slug, siteUrl, versionId, copiedFrom: text('The source'), status })
export const deleteResponse = object({ slug, deleted: bool('true') })

export const claimRequest = object({ claimToken: text('The claim token', { maxLength: 100 }) })
export const claimResponse = object(
  { success: bool('true'), slug, siteUrl, expiresAt: nullable(time('null')) },
  { alreadyOwned: bool('It was this account’s before') },
)
export const claimPreview = object(
  { slug, claimed: bool('The site has an owner; then nothing else is answered') },
  {
    siteUrl,
    status,
    title: nullable(text('Page title')),
    fileCount: integer('Files'),
    totalBytes: integer('Bytes'),
    createdAt: time('Creation'),
    expiresAt: nullable(time('Expiry')),
    currentVersionId: nullable(versionId),
  },
)

const domainRecord = object({
  domain: text('Host name as IDNA A-labels'),
  siteSlug: slug,
  status,
  records: list(
    object({
      type: text('CNAME, ALIAS or TXT'),
      name: text('Name as DNS forms want it; @ is the root'),
      value: text('Value'),
      found: nullable(
        list(
          { type: 'string' },
          'What DNS answered at the last look; null before it, or when DNS could not say',
        ),
      ),
      right: nullable(bool('Whether that is as good as the value; null as above')),
    }),
    'What to enter in DNS',
  ),
  reason: nullable(
    text('Why it is pending or what is wrong: which record, what was found, what was expected'),
  ),
  redirectsTo: nullable(text('Where visitors are sent once that is active too; null when it shows the site')),
  alternate: nullable(
    text('Its www or its root, when that can be added too: on the same site it is not counted'),
  ),
  certificate: object({
    status: text('none, pending or active'),
    issuedAt: nullable(time('Since when there is the certificate')),
    expiresAt: nullable(time('End of the certificate')),
    renewsAt: nullable(time('When it is renewed or tried again')),
    problem: nullable(text('What went wrong at the last try')),
  }),
  createdAt: time('Creation'),
  verifiedAt: nullable(time('When the records were proven')),
  checkedAt: nullable(time('When the records were last looked up')),
  nextCheckAt: nullable(
    time('When they are looked up next; null when only asking for this record does that'),
  ),
})
export const domainRequest = object({
  domain: text('Host name', { maxLength: 300 }),
  siteSlug: text('The site', { maxLength: 100 }),
})
export const domainResponse = domainRecord
export const domainList = object({ domains: list(domainRecord, 'Oldest first') })
export const deleteDomainResponse = object({ domain: text('The name'), deleted: bool('true') })

/** Spec 2.8. */
export const errorResponse = object(
  {
    error: text('What is wrong, for a person'),
    code: text('Machine code; it never changes'),
    status: integer('The HTTP status'),
    hint: text('What to do next'),
    docs: text('The URL of the code in the API reference'),
  },
  { details: { description: 'What to point at' } },
)
