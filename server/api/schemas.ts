import { UNLIMITED } from '../../protocol/format.ts'
import { MAX_FILES } from '../../protocol/manifest/manifest.ts'
import { MAX_PATH_LENGTH } from '../../protocol/manifest/paths.ts'
import { STATUS } from '../lib/errors.ts'
import {
  MAX_DESCRIPTION_LENGTH,
  MAX_MESSAGE_LENGTH,
  MAX_TITLE_LENGTH,
  TTL_SECONDS,
} from '../sites/site-metadata.ts'
import { CLAIM_TOKEN_HEADER } from './claim-token.ts'
import { bundleTarget, uploadReceipt } from './schemas/bundles.ts'
import { bool, integer, list, named, nullable, object, type Schema, text, time } from './schemas/schema.ts'
import {
  base64File,
  fileEntry,
  kind,
  publishedFile,
  siteUrl,
  slug,
  suspension,
  textFile,
  versionId,
} from './schemas/site.ts'
import { fileChanges, previewAddress } from './schemas/versions.ts'

export type { Schema }
export { uploadReceipt }

const preview = text(
  'Publish as the preview of this name; the site stays as it is. merge, baseVersionId and ifChanged concern the version that the preview shows, or the live one while there is no such preview; ttlSeconds is the lifetime of the preview',
  { maxLength: 100 },
)
const liveReload = 'With preview: open pages of the preview reload after each update'

const status = { type: 'string', enum: ['pending', 'active'] }

const ttlSeconds = integer('Seconds until an owned site expires, counted from finalize', {
  minimum: TTL_SECONDS.min,
  maximum: TTL_SECONDS.max,
})

const viewerFields = {
  title: nullable(text('Page title', { maxLength: MAX_TITLE_LENGTH })),
  description: nullable(text('Meta description', { maxLength: MAX_DESCRIPTION_LENGTH })),
  ogImagePath: nullable(text('Path of an image in the manifest')),
  spaMode: bool('Navigations to unknown paths get index.html'),
  ttlSeconds: nullable(ttlSeconds),
}

const claimToken = text('The claim token of an anonymous site')
const name = text('The name of a new site, chosen by the owner; its slug', { maxLength: 100 })
const message = text('A note about the version', { maxLength: MAX_MESSAGE_LENGTH })

/** Media types that a publish accepts beside JSON. */
export const ARCHIVE_TYPES = ['application/zip', 'application/x-tar', 'application/gzip', 'text/html']

export const fileLimits = named(
  'FileLimits',
  object({
    files: integer('Files in a site'),
    fileBytes: integer(`Largest file in bytes; without a limit 2^53 − 1 (${UNLIMITED}), as the next one`),
    siteBytes: integer('Largest site in bytes'),
  }),
)

/** `maxFiles` is the largest number of files that a plan allows. */
export function publishRequest(maxFiles: number): Schema {
  const files = list(
    { anyOf: [fileEntry, textFile, base64File] },
    'The complete manifest, or all files with their contents; with merge, the files to add and replace',
    { maxItems: maxFiles },
  )
  const emptyFiles = list(
    text('Path of an empty file', { minLength: 1, maxLength: MAX_PATH_LENGTH }),
    'Empty files: entries of files have a positive size. They need no upload, and count as files',
    { maxItems: maxFiles },
  )
  return object({ files }, { emptyFiles, ...publishFields }, { title: 'PublishRequest' })
}

const publishFields = {
  ...viewerFields,
  viewer: object({}, viewerFields, {
    description: 'The same fields; those at the top level take precedence',
  }),
  merge: bool('For an update: add the files to those of the live version, which becomes the base'),
  delete: list(
    text('Path of a file of the live version', { maxLength: MAX_PATH_LENGTH }),
    'With merge: files of the live version that the new one does not have',
    { maxItems: MAX_FILES },
  ),
  name,
  message,
  preview,
  liveReload: bool(liveReload),
  live: bool('With contents: false keeps the version as a draft; default true'),
  ifChanged: bool('With contents: drop the version if it equals the live one'),
  baseVersionId: text('Refuse with VERSION_CONFLICT unless this version is live, or shown by the preview'),
  claimToken,
}

const uploadTarget = named(
  'UploadTarget',
  object({
    path: text('The file'),
    method: text('PUT'),
    url: text('Where to send the bytes'),
    headers: { type: 'object', description: 'Headers to send', additionalProperties: { type: 'string' } },
  }),
)

const uploadPlan = object(
  {
    versionId,
    uploads: list(uploadTarget, 'The files to upload'),
    skipped: list(
      named('SkippedFile', object({ path: text('The file'), reason: text('Always hash_match') })),
      'The files that need no upload',
    ),
    finalizeUrl: text('Call this when everything is uploaded'),
    expiresInSeconds: integer('Lifetime of the upload URLs in seconds'),
  },
  { bundle: bundleTarget },
  { title: 'UploadPlan' },
)

const anonymousExtras = {
  claimToken: text('Shown once; needed to update or claim the site'),
  claimUrl: text('A page that claims the site for an account'),
  expiresAt: time('When the site expires unless it is claimed'),
  anonymous: bool('Always true'),
  warning: text('A reminder to save the claim token'),
}

export const refreshRequest = named('RefreshUploadsRequest', object({ versionId }, { claimToken }))

const finalizeFields = {
  success: bool('Always true'),
  slug,
  siteUrl,
  status,
  versionId,
  currentVersionId: nullable(text('The live version')),
  previousVersionId: nullable(text('The version that was live before')),
  previewUrl: text('The preview URL of this version'),
  title: nullable(text('The title of the site, or of its start page')),
}
const suggestedName = text(
  'A free name that is like the title; for the first version of a site whose name was generated',
)
const siteExpiresAt = time('When the site expires; absent when it does not')
const replayed = bool('The version was already finalized in the same way')
const unchanged = bool(
  'The version equals the live one, or the one that the preview shows, and was dropped; the ids are those of that one',
)
const warnings = list(
  object(
    { file: text('The path of the file'), message: text('The problem, for people') },
    { line: integer('From 1; absent when the problem concerns the whole file', { minimum: 1 }) },
    { title: 'PublishWarning' },
  ),
  'Problems in the files that do not break the site; absent when there are none',
)

export const finalizeRequest = object(
  { versionId },
  {
    live: bool('false keeps the version as a draft; default true'),
    claimToken: text('The claim token of an anonymous site; needed to make a draft of it live'),
    ifChanged: bool('Drop the version if its files, rules and settings equal those of the live version'),
  },
  { title: 'FinalizeRequest' },
)
export const finalizeResponse = named(
  'FinalizeResponse',
  object(finalizeFields, {
    suggestedName,
    expiresAt: siteExpiresAt,
    preview: previewAddress,
    replayed,
    unchanged,
    warnings,
  }),
)
/** A manifest gets an upload plan; an archive goes live immediately and gets the response of finalize. */
const archiveFields = {
  ...finalizeFields,
  suggestedName,
  expiresAt: siteExpiresAt,
  fileCount: integer('Files in the version'),
  totalBytes: integer('Bytes in the version'),
  excluded: list(
    named(
      'Exclusion',
      object({
        path: text('The file, or the folder with a final slash'),
        reason: text('dotfile, secret, dependencies, system, repository, link or special'),
      }),
    ),
    'Files of the archive that were not published',
  ),
  notes: list(
    text('A sentence'),
    'What was guessed about the archive, and likely mistakes; absent when there is nothing',
  ),
  removedFolder: text('The top folder that all files share; its contents are the site'),
}

const removal = object(
  {
    files: integer('Files of the live version that this version does not have'),
    liveFiles: integer('Files of the live version'),
    index: bool('Whether the top index.html is one of the removed files'),
  },
  {},
  {
    title: 'Removal',
    description: 'The files that the version removes from the site; absent when it removes none',
  },
)
const changes = {
  ...fileChanges,
  description: 'Number of files that differ from the live version; absent when there is none',
}
export const refreshResponse = named(
  'RefreshUploadsResponse',
  object({ slug, siteUrl, upload: uploadPlan }, { removal, changes }),
)
export const updateResponse = named(
  'UpdateSiteResponse',
  object(
    { slug, siteUrl },
    {
      upload: uploadPlan,
      removal,
      changes,
      ...archiveFields,
      preview: previewAddress,
      replayed,
      unchanged,
      warnings,
    },
  ),
)
export const createResponse = named(
  'CreateSiteResponse',
  object(
    { slug, siteUrl, status },
    { upload: uploadPlan, ...archiveFields, ...anonymousExtras, preview: previewAddress, warnings },
  ),
)

/** Query parameters of an archive request, for which a JSON publish has a body. */
export const archiveQuery = object(
  {},
  {
    title: text('Page title', { maxLength: MAX_TITLE_LENGTH }),
    description: text('Meta description', { maxLength: MAX_DESCRIPTION_LENGTH }),
    ogImagePath: text('Path of an image in the archive'),
    spaMode: viewerFields.spaMode,
    ttlSeconds,
    live: bool('false keeps the version as a draft; default true'),
    include: text('dotfiles, secrets, or both with a comma: files that are excluded by default'),
    merge: bool('Add the files to those of the live version'),
    keepTopFolder: bool('Keep a top folder that all files share; merge keeps it by default'),
    name,
    message,
    preview,
    liveReload: bool(liveReload),
    baseVersionId: text('Refuse unless this version is live, or shown by the preview'),
    ifChanged: bool('Drop the version if it equals the live one'),
    claimToken,
  },
)

/** The claim token in place of the body or query: proxies log URLs, but not headers. */
export const claimTokenHeader = object(
  {},
  { [CLAIM_TOKEN_HEADER]: text('The claim token of an anonymous site', { maxLength: 100 }) },
)

export const uploadQuery = object({
  token: text('Signature of the target'),
  ct: text('Content type'),
  exp: text('Unix time at which the URL expires'),
})

const membership = {
  role: { type: 'string', enum: ['owner', 'collaborator'], description: 'Your role for the site' },
}
const ownerEmail = text('The address of the owner of a site that is shared with you')

const siteFields = {
  slug,
  siteUrl,
  status,
  versionId,
  currentVersionId: nullable(text('The live version')),
  pendingVersionId: nullable(text('The newest version whose uploads are incomplete')),
  createdAt: time('Creation'),
  updatedAt: time('Last change'),
  expiresAt: nullable(time('Expiry; null when the site does not expire')),
  title: nullable(text('Page title: that of the site, else that of its start page')),
  iconUrl: nullable(text('Its icon; null without one, and for a site with a password')),
  thumbnailUrl: nullable(text('The thumbnail of the live version; null without one')),
}

export const siteDetails = named(
  'Site',
  object(
    {
      ...siteFields,
      ...membership,
      viewer: object(
        {
          title: viewerFields.title,
          description: viewerFields.description,
          ogImagePath: viewerFields.ogImagePath,
        },
        {},
        { description: 'The metadata of the site itself; for null, the value of the document is used' },
      ),
      description: nullable(text('Meta description')),
      ogImagePath: nullable(text('Open Graph image')),
      spaMode: bool('Navigations to unknown paths get index.html'),
      hasPassword: bool('Visitors need a password'),
      files: list(publishedFile, 'The files of the current version'),
    },
    { ownerEmail, suspension },
  ),
)

const siteSummary = named(
  'SiteSummary',
  object(
    {
      ...siteFields,
      ...membership,
      hasPassword: bool('Visitors need a password'),
      kind,
      imageUrl: nullable(text('URL of its Open Graph image, its icon, or its only image; null without any')),
      fileCount: integer('Files'),
      totalBytes: integer('Bytes'),
    },
    {
      ownerEmail,
      suspension,
      deletedAt: time('When a site in the trash was deleted'),
      deletedUntil: time('When a site in the trash will be deleted permanently'),
    },
  ),
)
export const siteList = named(
  'SiteList',
  object(
    {
      publishes: list(siteSummary, 'Newest first; in the trash, the last deleted one first'),
      nextCursor: nullable(text('The cursor of the next page; null on the last page')),
    },
    { suspension },
  ),
)
export const listQuery = object(
  {},
  {
    limit: integer('Sites per page; default 50', { minimum: 1, maximum: 100 }),
    cursor: text('nextCursor of the previous page', { maxLength: 200 }),
    q: text('Words that all occur in the title or the slug', { maxLength: 100 }),
    deleted: bool('List the sites in the trash'),
  },
)

export const metadataRequest = object(
  {},
  {
    ...viewerFields,
    password: nullable(
      text('The password that visitors must enter; null removes it', { minLength: 1, maxLength: 200 }),
    ),
  },
  { title: 'MetadataRequest' },
)
export const renameRequest = named(
  'RenameRequest',
  object({ name: text('The new name', { maxLength: 100 }) }),
)
export const renameResponse = named(
  'RenamedSite',
  object({
    slug,
    siteUrl,
    formerSlug: text('The former name'),
    redirectsUntil: nullable(time('Until when the former name redirects; null when the name did not change')),
  }),
)
export const nameCheck = named(
  'NameCheck',
  object(
    { name: text('The name'), available: bool('A new site of the account can have it') },
    { reason: text('Why it is not available, for people') },
  ),
)
export const duplicateResponse = named(
  'DuplicateResponse',
  object({ slug, siteUrl, versionId, copiedFrom: text('The source'), status }),
)
export const deleteQuery = object({}, { permanent: bool('Delete the site permanently, also from the trash') })
export const deleteRequest = nullable(
  object({}, { claimToken: text('Of a site without an owner, in place of a key', { maxLength: 100 }) }),
)
export const deleteResponse = named('DeletedSite', object({ slug, deleted: bool('Always true') }))

const claimOf = { claimToken: text('The claim token', { maxLength: 100 }) }
export const claimRequest = named(
  'ClaimRequest',
  object(claimOf, { name: text('A name that the site gets with the claim; the former URL redirects') }),
)
export const claimPreviewRequest = named('ClaimPreviewRequest', object(claimOf))
export const claimResponse = object(
  {
    success: bool('Always true'),
    slug,
    siteUrl,
    expiresAt: nullable(text('Always null: the site no longer expires')),
  },
  { alreadyOwned: bool('The site already belonged to this account') },
  { title: 'ClaimResponse' },
)
export const claimPreview = object(
  { slug, claimed: bool('The site has an owner; the other fields are then absent') },
  {
    siteUrl,
    status,
    title: siteFields.title,
    iconUrl: siteFields.iconUrl,
    thumbnailUrl: siteFields.thumbnailUrl,
    fileCount: integer('Files'),
    totalBytes: integer('Bytes'),
    createdAt: time('Creation'),
    expiresAt: nullable(time('Expiry')),
    currentVersionId: nullable(versionId),
  },
  { title: 'ClaimPreview' },
)

const domainRecord = named(
  'Domain',
  object({
    domain: text('Host name as IDNA A-labels'),
    siteSlug: slug,
    status,
    records: list(
      named(
        'DnsRecord',
        object({
          type: text('CNAME, ALIAS or TXT'),
          name: text('Name as the forms of DNS providers expect it; @ is the root'),
          value: text('Value'),
          found: nullable(
            list(
              { type: 'string' },
              'The response of DNS at the last check; null before it, or when DNS failed',
            ),
          ),
          right: nullable(bool('Whether found is equivalent to value; null when found is')),
        }),
      ),
      'The records to enter in DNS',
    ),
    reason: nullable(
      text('Why it is pending, or the problem: the record, the value found, the value expected'),
    ),
    redirectsTo: nullable(
      text('Redirect target, when the target is active; null when the domain shows the site'),
    ),
    alternate: nullable(
      text(
        'Its www or its root domain, when it can be added too; on the same site, it does not count towards the limit',
      ),
    ),
    certificate: named(
      'Certificate',
      object({
        status: text('none, pending or active'),
        issuedAt: nullable(time('When the certificate was issued')),
        expiresAt: nullable(time('When the certificate expires')),
        renewsAt: nullable(time('When it is renewed or retried')),
        problem: nullable(text('The error of the last attempt')),
      }),
    ),
    createdAt: time('Creation'),
    verifiedAt: nullable(time('When the records were verified')),
    checkedAt: nullable(time('When the records were checked last')),
    nextCheckAt: nullable(
      time('When they are checked next; null when only requesting this record triggers a check'),
    ),
  }),
)
export const domainRequest = named(
  'DomainRequest',
  object({
    domain: text('Host name', { maxLength: 300 }),
    siteSlug: text('The site', { maxLength: 100 }),
  }),
)
export const domainResponse = domainRecord
export const domainList = named('DomainList', object({ domains: list(domainRecord, 'Oldest first') }))
export const deleteDomainResponse = named(
  'DeletedDomain',
  object({ domain: text('The name'), deleted: bool('Always true') }),
)

/** Spec 2.8. */
export const errorResponse = object(
  {
    error: text('The problem, for people'),
    code: text('Identifies the error; it never changes', { enum: Object.keys(STATUS) }),
    status: integer('The HTTP status'),
    hint: text('What to do next'),
    docs: text('The URL of the code in the API reference'),
  },
  { details: { description: 'The fields or files concerned, where there are any' } },
  { title: 'Error' },
)
