import type { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import type { FieldError } from '../../protocol/api/errors.schema.ts'
import type { FileEntry } from '../../protocol/api/fields.schema.ts'
import { OPERATIONS, type Query } from '../../protocol/api/operations.schema.ts'
import { UPLOAD_PATH } from '../../protocol/api/paths.ts'
import type { ArchiveResponse, PublishRequest } from '../../protocol/api/publish.schema.ts'
import { METADATA_FIELDS } from '../../protocol/api/publish.ts'
import type { IncludeOptions } from '../../protocol/ignore/default-rules.ts'
import { countFiles, tooManyFiles } from '../../protocol/manifest/manifest.ts'
import { mediaType } from '../../protocol/manifest/media-type.ts'
import { ApiError, invalidField, tooLarge, validationError } from '../lib/errors.ts'
import { type ArchiveKind, archiveKind } from '../publish/archive/archive.ts'
import {
  type ContentFile,
  contentTextBytes,
  hasContents,
  readContentFiles,
} from '../publish/archive/content.ts'
import type { ArchiveRequest } from '../publish/archive-upload.ts'
import type { UploadQuery } from '../publish/signed-uploads.ts'
import type { PendingVersionStore } from '../publish/stage.ts'
import type { Services } from '../services.ts'
import { charge, chargeMessage } from './auth.ts'
import { toFieldErrors } from './errors.ts'
import { findInternalRequest } from './internal-requests.ts'
import { type Call, type Handlers, readQuery, withClaimToken } from './route.ts'

/** Spec 4.3 to 4.5, and contract "One request" and "Inline". */
export function publishHandlers(services: Services) {
  const { publishService, pendingVersions, limits } = services
  return {
    createSite: async ({ request, caller }) => {
      const direct = await readDirectRequest(request, services)
      return direct
        ? publishDirectly(services, request, direct)
        : publishService.create(caller, await readManifest(request, pendingVersions))
    },
    updateSite: async ({ request, caller, params: { slug } }) => {
      const direct = await readDirectRequest(request, services, slug)
      return direct
        ? publishDirectly(services, request, direct, slug)
        : publishService.update(caller, slug, await readManifest(request, pendingVersions, slug))
    },
    refreshUploads: ({ request, caller, params, body }) =>
      publishService.refresh(caller, params.slug, withClaimToken(request, body)),
    finalizeVersion: (call) => finalize(call, services),
    // A client asks before it reads a folder, so it costs no request.
    getLimits: async ({ request, caller, query: { site } }) => {
      await chargeMessage(limits, request)
      if (request.validationError) throw request.validationError
      return site === undefined ? pendingVersions.limitsFor(caller) : pendingVersions.findLimits(caller, site)
    },
  } satisfies Partial<Handlers>
}

/** A new site, or a version of the site `slug`. */
export function publishDirectly(
  { archivePublisher, publishQueue }: Pick<Services, 'archivePublisher' | 'publishQueue'>,
  { caller }: FastifyRequest,
  direct: ArchiveRequest,
  slug?: string,
): Promise<ArchiveResponse> {
  return publishQueue.receive(
    caller,
    () =>
      slug === undefined
        ? archivePublisher.create(caller, direct)
        : archivePublisher.update(caller, slug, direct),
    () => caller.account !== undefined,
  )
}

/** The request when its files come with it: an archive, or contents in JSON. */
async function readDirectRequest(
  request: FastifyRequest,
  { pendingVersions }: Pick<Services, 'pendingVersions'>,
  slug?: string,
): Promise<ArchiveRequest | undefined> {
  const kind = archiveKind(request.headers['content-type'])
  if (kind) return readArchiveRequest(request, kind, request.body as Readable)
  const body = request.body as
    | (PublishRequest & { live?: unknown; ifChanged?: unknown; allowSecrets?: string[] })
    | null
    | undefined
  if (!hasContents(body?.files)) return undefined
  const { files, emptyFiles = [], live, ifChanged, allowSecrets, ...rest } = body as typeof body & {}
  const fields = withClaimToken(request, rest)
  const found = toFieldErrors(request.validationError).filter(({ field }) => !isRuleChecked(field))
  const contents = readContentFiles(files, findInternalRequest(request.raw)?.maxContentBytes)
  const manifest = { ...fields, files: contents.map(toManifestEntry), emptyFiles }
  const problems = [...(await pendingVersions.validate(request.caller, manifest, slug)), ...found]
  if (problems.length > 0) throw validationError(problems)
  return {
    source: {
      kind: 'contents',
      files: [...contents, ...emptyFiles.map((path) => ({ path, bytes: Buffer.alloc(0) }))],
    },
    fields,
    live: live !== false,
    ifChanged: ifChanged === true,
    allowSecrets,
    include: readInclude(request),
    keepTopFolder: true,
    confirmCaller: () => request.confirmCaller(),
  }
}

/** With its position in the request, also for an empty file, which a manifest names apart. */
function toManifestEntry({ path, bytes, contentType = mediaType(path) }: ContentFile): FileEntry {
  return { path, size: Math.max(bytes.length, 1), contentType }
}

async function finalize(
  { request, reply, caller, params, body }: Call<'finalizeVersion'>,
  { finalizer, limits }: Pick<Services, 'finalizer' | 'limits'>,
) {
  const chargeOne = () => charge(limits, request, reply)
  if (request.validationError) {
    await chargeOne()
    throw request.validationError
  }
  return finalizer.finalize(caller, params.slug, withClaimToken(request, body), chargeOne)
}

/**
 * Reporting every violation of a million files costs memory and time: too many are rejected before schema validation.
 * `manifestBytes` limits what a body has beside the contents of files.
 */
export function assertManifestSize(
  { pendingVersions }: Pick<Services, 'pendingVersions'>,
  manifestBytes: number,
) {
  return async ({ body, bodyBytes }: FastifyRequest): Promise<void> => {
    const { files, emptyFiles } = (body ?? {}) as { files?: unknown; emptyFiles?: unknown }
    const max = pendingVersions.maxFiles
    if (countFiles({ files, emptyFiles }) > max)
      throw validationError([tooManyFiles({ files, emptyFiles }, max)])
    if (bodyBytes > manifestBytes && bodyBytes - contentTextBytes(files) > manifestBytes)
      throw tooLarge('The request body', manifestBytes)
    // Parsing the body and validating it may take 20 ms each.
    await turn()
  }
}

/** Reports the errors of the schema and of the rules together. Where both check, the rules have the better messages. */
async function readManifest(
  request: FastifyRequest,
  staging: PendingVersionStore,
  slug?: string,
): Promise<PublishRequest> {
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalidField('body', 'must be a JSON object with a files array')
  }
  const found = toFieldErrors(request.validationError).filter(({ field }) => !isRuleChecked(field))
  const manifest = withClaimToken(request, body as PublishRequest)
  const problems: FieldError[] = [...(await staging.validate(request.caller, manifest, slug)), ...found]
  if ('live' in body && body.live === false)
    problems.push({ field: 'live', message: 'must be sent to finalize, unless files have contents' })
  if (problems.length > 0) throw validationError(problems)
  return manifest
}

const RULE_CHECKED = new Set<string>(['message', 'preview', ...METADATA_FIELDS])

function isRuleChecked(field: string): boolean {
  return /^(files|emptyFiles)\b/.test(field) || RULE_CHECKED.has(field.replace('viewer.', ''))
}

/** The names of `include`: what is excluded from archives by default. */
const INCLUDABLE = new Set(['dotfiles', 'secrets'])

/** An archive has the fields of a JSON publish in its query. */
export function readArchiveRequest(
  request: FastifyRequest,
  kind: ArchiveKind,
  body: Readable,
): ArchiveRequest {
  const { values, problems } = readQuery(OPERATIONS.createSite.query, request.query)
  if (problems.length > 0) throw validationError(problems)
  const query: Query<'createSite'> = values
  const { live = true, ifChanged = false, include: _, keepTopFolder, merge = false, ...others } = query
  const { allowSecrets, ...fields } = others
  return {
    source: { kind, body },
    fields: withClaimToken<Omit<PublishRequest, 'files'>>(request, { ...fields, merge }),
    live,
    ifChanged,
    allowSecrets: allowSecrets?.split(','),
    include: readInclude(request),
    // Paths of a merged archive are relative to the site.
    keepTopFolder: keepTopFolder ?? merge,
    confirmCaller: () => request.confirmCaller(),
  }
}

function readInclude({ query }: FastifyRequest): IncludeOptions {
  const { include } = query as { include?: unknown }
  const names = include === undefined ? [] : String(include).split(',')
  if (!names.every((name) => INCLUDABLE.has(name)))
    throw invalidField('include', 'must be dotfiles, secrets or dotfiles,secrets')
  return { dotfiles: names.includes('dotfiles'), secrets: names.includes('secrets') }
}

/** Spec 4.6: the bytes stream from the socket to the blobs. A bundle counts as one upload. */
export function uploadHandlers({ publishService, publishQueue }: Services) {
  return {
    uploadFile: ({ request, caller }) => {
      const key = request.url.split('?', 1)[0]!.slice(UPLOAD_PATH.length)
      const query = readUploadQuery(request)
      return publishQueue.receive(
        caller,
        () => publishService.upload(key, query, request.raw, readUploadHeaders(request)),
        () => publishService.isOfAccount(key, query),
      )
    },
    uploadBundle: ({ request, caller, params }) => {
      const query = readUploadQuery(request)
      return publishQueue.receive(
        caller,
        () => publishService.uploadBundle(params, query, request.raw, readUploadHeaders(request)),
        () => publishService.isOfAccount(params, query),
      )
    },
  } satisfies Partial<Handlers>
}

/** `SignedUploadUrls` checks the signature; here that each field is present once. */
function readUploadQuery({ validationError, query }: FastifyRequest): UploadQuery {
  if (validationError) {
    const sentence = 'The query of the upload URL is incomplete, or has a parameter twice'
    throw new ApiError('INVALID_UPLOAD_TOKEN', sentence)
  }
  return query as UploadQuery
}

function readUploadHeaders({ headers }: FastifyRequest) {
  const length = headers['content-length']
  return {
    contentType: headers['content-type'],
    contentLength: length === undefined ? undefined : Number(length),
  }
}
