import { UNLIMITED } from '../format.ts'
import { SKIP_REASONS } from '../ignore/exclusions.ts'
import { MAX_PATH_LENGTH } from '../manifest/paths.ts'
import {
  base64File,
  type FileContent,
  type FileEntry,
  fileChanges,
  fileEntry,
  previewAddress,
  siteUrl,
  slug,
  status,
  textFile,
  versionId,
} from './fields.schema.ts'
import {
  CLAIM_TOKEN_HEADER,
  HEAD_FIELDS,
  MAX_FILES,
  MAX_MESSAGE_LENGTH,
  METADATA_TEXTS,
  type MetadataField,
  TTL_SECONDS,
} from './publish.ts'
import {
  bool,
  constant,
  either,
  integer,
  list,
  map,
  named,
  nullable,
  nullables,
  object,
  type Schema,
  type Static,
  type StaticFields,
  text,
  time,
} from './schema.ts'

// Publishing: manifest, uploads, finalize (spec 2.2 to 2.4 and 4.3 to 4.6).

export const fileLimits = named('FileLimits', {
  files: integer('Files in a site'),
  fileBytes: integer(`Largest file in bytes; without a limit 2^53 − 1 (${UNLIMITED}), as the next one`),
  siteBytes: integer('Largest site in bytes'),
})
export type FileLimits = Static<typeof fileLimits>

export const limitsQuery = object(
  {},
  { site: text('Slug of a site; by default a new one', { maxLength: 100 }) },
)

export const metadataTexts = Object.fromEntries(
  Object.entries(METADATA_TEXTS).map(([field, { words, maxLength }]) => [field, text(words, { maxLength })]),
) as Record<keyof typeof METADATA_TEXTS, Schema<string>>
const metadata = {
  ...metadataTexts,
  ogImagePath: text('Path of an image of the site, for link previews'),
  spaMode: bool('Navigations to unknown paths get index.html'),
  ttlSeconds: integer('Seconds until an owned site expires, counted from finalize', {
    minimum: TTL_SECONDS.min,
    maximum: TTL_SECONDS.max,
  }),
} satisfies Record<MetadataField, Schema>

/** Metadata of a site. On update absent fields stay, and null clears. */
export const metadataFields = { ...nullables(metadata), spaMode: metadata.spaMode }
export type SiteMetadata = Partial<StaticFields<typeof metadataFields>>

/** What a publisher sets and a site has; `expiresAt` follows from the lifetime. */
const { ttlSeconds: _, ...ofSite } = metadataFields
export const publisherFields = ofSite

/** For null, the value of the document is used. */
export const headFields = Object.fromEntries(
  HEAD_FIELDS.map((field) => [field, metadataFields[field]]),
) as Pick<typeof metadataFields, (typeof HEAD_FIELDS)[number]>

const claimToken = text('The claim token of an anonymous site')
/** What a JSON publish has in its body, and an archive in its query. */
const versionFields = {
  name: text('The name of a new site, chosen by the owner; its slug', { maxLength: 100 }),
  update: bool(
    'With name: update the site of this name when it exists, create it otherwise; two first publishes make one site',
  ),
  message: text('A note about the version', { maxLength: MAX_MESSAGE_LENGTH }),
  preview: text(
    'Publish as the preview of this name; the site stays as it is. merge, baseVersionId and ifChanged concern the version that the preview shows, or the live one while there is no such preview; ttlSeconds is the lifetime of the preview',
    { maxLength: 100 },
  ),
  liveReload: bool('With preview: open pages of the preview reload after each update'),
  baseVersionId: text('Refuse with VERSION_CONFLICT unless this version is live, or shown by the preview'),
  claimToken,
}
const live = bool('false keeps the version as a draft; default true')

const ALLOWED_SECRETS =
  'Fingerprints from SECRET_DETECTED of secrets that may be public; the site accepts them from then on, unless the scope of the key is preview'
const allowSecrets = (description: string) =>
  list(text('A fingerprint', { maxLength: 100 }), description, { maxItems: 100 })

const publishFields = {
  ...metadataFields,
  viewer: object({}, metadataFields, {
    description: 'The same fields; those at the top level take precedence',
  }),
  merge: bool(
    'For an update: add the files to those of the live version, which becomes the base: finalize fails with VERSION_CONFLICT when another version went live',
  ),
  delete: list(
    text('Path of a file of the live version', { maxLength: MAX_PATH_LENGTH }),
    'With merge: files of the live version that the new one does not have',
    { maxItems: MAX_FILES },
  ),
  ...versionFields,
}
const contentsFields = {
  live: bool('With contents: false keeps the version as a draft; default true. Without, finalize has it'),
  ifChanged: bool('With contents: drop the version if it equals the live one'),
  allowSecrets: allowSecrets(`With contents: ${ALLOWED_SECRETS}`),
}
const emptyFiles = (maxFiles: number) =>
  list(
    text('Path of an empty file', { minLength: 1, maxLength: MAX_PATH_LENGTH }),
    'Empty files: entries of files have a positive size. They need no upload, and count as files',
    { maxItems: maxFiles },
  )

/** `maxFiles` is the largest number of files that a plan allows. */
export function publishRequest(maxFiles: number): Schema<PublishRequest | ContentsRequest> {
  const files = list(
    { anyOf: [fileEntry, textFile, base64File] },
    'The complete manifest, or all files with their contents; with merge, the files to add and replace',
    { maxItems: maxFiles },
  )
  const optional = { emptyFiles: emptyFiles(maxFiles), ...publishFields, ...contentsFields }
  return named('PublishRequest', { files }, optional) as Schema<PublishRequest | ContentsRequest>
}

type PublishOptions = Partial<StaticFields<typeof publishFields & { emptyFiles: Schema<string[]> }>>

/** A manifest: the files are uploaded before it is finalized. */
export type PublishRequest = PublishOptions & { files: FileEntry[] }

/** A publish whose files are in the request, 2 MiB at most together; live when it returns. */
export type ContentsRequest = PublishOptions &
  Partial<StaticFields<typeof contentsFields>> & { files: FileContent[] }

const uploadTarget = named('UploadTarget', {
  path: text('The file'),
  method: constant('PUT', 'The method of the upload'),
  url: text('Where to send the bytes'),
  headers: map(text('A value'), 'Headers to send'),
})
export type UploadTarget = Static<typeof uploadTarget>

/** The target of tars with files of a pending version, in any number of requests. */
const bundleTarget = named(
  'BundleTarget',
  {
    method: constant('PUT', 'The method of the upload'),
    url: text('Where to send it'),
    headers: map(text('A value'), 'Headers to send'),
    maxBytes: integer('Maximum size of one request in bytes, with the headers of the tar'),
  },
  {},
  { description: 'Accepts any of the uploads together, as a tar; absent when there is nothing to upload' },
)
export type BundleTarget = Static<typeof bundleTarget>

/** Spec 2.3. */
const uploadPlan = named(
  'UploadPlan',
  {
    versionId,
    uploads: list(uploadTarget, 'The files to upload'),
    skipped: list(
      named('SkippedFile', {
        path: text('The file'),
        reason: constant('hash_match', 'Why it needs no upload'),
      }),
      'The files that need no upload',
    ),
    finalizeUrl: text('Call this when everything is uploaded'),
    expiresInSeconds: integer('Lifetime of the upload URLs in seconds'),
  },
  { bundle: bundleTarget },
)
export type UploadPlan = Static<typeof uploadPlan>

export const uploadReceipt = named('UploadReceipt', {
  path: text('The file'),
  size: integer('Bytes'),
  hash: text('SHA-256 in hex'),
})
export type UploadReceipt = Static<typeof uploadReceipt>

export const bundleReceipt = named('BundleReceipt', {
  files: list(uploadReceipt, 'The received files, in the order of the tar'),
})
export type BundleReceipt = Static<typeof bundleReceipt>

/** Spec 2.4. */
const anonymousExtras = {
  claimToken: text('Shown once; needed to update or claim the site'),
  claimUrl: text('A page that claims the site for an account'),
  expiresAt: time('When the site expires unless it is claimed'),
  anonymous: constant(true, 'Always true'),
  warning: text('A reminder to save the claim token'),
}
export type AnonymousExtras = StaticFields<typeof anonymousExtras>

export const refreshRequest = named('RefreshUploadsRequest', { versionId }, { claimToken })

const warning = named(
  'PublishWarning',
  { file: text('The path of the file'), message: text('The problem, for people') },
  { line: integer('From 1; absent when the problem concerns the whole file', { minimum: 1 }) },
)
/** A problem in a published file. */
export type PublishWarning = Static<typeof warning>

const finalizeFields = {
  success: constant(true, 'Always true'),
  slug,
  siteUrl,
  status,
  versionId,
  currentVersionId: nullable(text('The live version')),
  previousVersionId: nullable(text('The version that was live before; null when a restore is repeated')),
  previewUrl: text('The preview URL of this version; never indexed'),
  title: nullable(text('The title of the site, or of its start page')),
}
const finalizeExtras = {
  suggestedName: text(
    'A free name that is like the title; for a site whose name was generated, with its first version and until it has an owner',
  ),
  expiresAt: time('When the site expires; absent when it does not'),
  preview: previewAddress,
  replayed: constant(true, 'The version was already finalized in the same way'),
  unchanged: constant(
    true,
    'The version equals the live one, or the one that the preview shows, and was dropped; the ids are those of that one',
  ),
  warnings: list(warning, 'Problems in the files that do not break the site; absent when there are none'),
}

export const finalizeRequest = named(
  'FinalizeRequest',
  { versionId },
  {
    live,
    claimToken: text('The claim token of an anonymous site; needed to make a draft of it live'),
    ifChanged: bool('Drop the version if its files, rules and settings equal those of the live version'),
    allowSecrets: allowSecrets(ALLOWED_SECRETS),
  },
)
export type FinalizeRequest = Static<typeof finalizeRequest>

export const finalizeResponse = named('FinalizeResponse', finalizeFields, finalizeExtras)
export type FinalizeResponse = Static<typeof finalizeResponse>

const removal = named(
  'Removal',
  {
    files: integer('Files of the live version that this version does not have'),
    liveFiles: integer('Files of the live version'),
    index: bool('Whether the top index.html is one of the removed files'),
  },
  {},
  {
    description:
      'The files that the version removes from the site; absent when it removes none. A file whose name differs only in a content hash takes the place of the other',
  },
)
export type Removal = Static<typeof removal>

/** Compared with the live version. */
const comparison = {
  removal,
  changes: {
    ...fileChanges,
    description: 'Number of files that differ from the live version; absent when there is none',
  },
}

const excluded = named('Exclusion', {
  path: text('The file, or the folder with a final slash'),
  reason: text('Why it was not published', { enum: SKIP_REASONS }),
})

const plan = { slug, siteUrl, upload: uploadPlan }
const archiveFields = {
  ...finalizeFields,
  fileCount: integer('Files in the version'),
  totalBytes: integer('Bytes in the version'),
  excluded: list(excluded, 'Files of the archive that were not published'),
}
const archiveExtras = {
  ...finalizeExtras,
  ...comparison,
  notes: list(
    text('A sentence'),
    'What was guessed about the archive, and likely mistakes; absent when there is nothing',
  ),
  removedFolder: text('The top folder that all files share, with a final /; its contents are the site'),
}

export const refreshResponse = named('RefreshUploadsResponse', plan, comparison)
export type UpdateResponse = Static<typeof refreshResponse>

/** The response to an archive, a page or the contents of files: they are live immediately. */
export const publishedSite = named('PublishedSite', archiveFields, { ...archiveExtras, ...anonymousExtras })
export type ArchiveResponse = Static<typeof publishedSite>

export const publishedVersion = named('PublishedVersion', archiveFields, archiveExtras)
export const updateResponse = either('UpdateSiteResponse', refreshResponse, publishedVersion)

const newSite = named(
  'NewSite',
  { ...plan, status: constant('pending', 'Nothing is live until finalize') },
  { ...comparison, ...anonymousExtras },
)
export type CreateResponse = Static<typeof newSite>

export const createResponse = either('CreateSiteResponse', newSite, publishedSite)

/** Query parameters of an archive request, for which a JSON publish has a body. */
export const archiveQuery = object(
  {},
  {
    ...metadata,
    ...versionFields,
    live,
    include: text('dotfiles, secrets, or both with a comma: files that are excluded by default'),
    merge: bool('Add the files to those of the live version'),
    keepTopFolder: bool('Keep a top folder that all files share; merge keeps it by default'),
    ifChanged: bool('Drop the version if it equals the live one'),
    allowSecrets: text(`${ALLOWED_SECRETS}; separated by commas`, { maxLength: 2200 }),
  },
)
export type ArchiveQuery = Static<typeof archiveQuery>

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
export const bundleQuery = object({
  token: text('Signature of the target'),
  exp: text('Unix time at which the URL expires'),
})
