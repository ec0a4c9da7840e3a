import type { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { FieldError } from '../../protocol/api/errors.ts'
import type { FinalizeRequest, PublishRequest } from '../../protocol/api/publish.ts'
import { MAX_FILES, tooManyFiles } from '../../protocol/manifest/manifest.ts'
import { rateLimitSubnet } from '../lib/client-ip.ts'
import { validationError } from '../lib/errors.ts'
import { type ArchiveKind, archiveKind } from '../publish/archive/archive.ts'
import type { ArchiveRequest } from '../publish/archive-upload.ts'
import type { PendingVersionStore } from '../publish/stage.ts'
import { charge } from './auth.ts'
import { withClaimToken } from './claim-token.ts'
import { toFieldErrors } from './errors.ts'
import type { ApiServices } from './services.ts'
import { readSlug } from './sites.ts'

/** Spec 4.3, and contract "One request". */
export function create({
  pendingVersions,
  publishService,
  archivePublisher,
  uploadLimiter,
}: Pick<
  ApiServices,
  'pendingVersions' | 'publishService' | 'archivePublisher' | 'uploadLimiter'
>): RouteHandlerMethod {
  return async (request, reply) => {
    const kind = archiveKind(request.headers['content-type'])
    const answer = kind
      ? await uploadLimiter.run(rateLimitSubnet(request.caller.address), () =>
          archivePublisher.create(request.caller, readArchiveRequest(request, kind)),
        )
      : await publishService.create(request.caller, readManifest(request, pendingVersions))
    reply.code(201)
    return answer
  }
}

/** Spec 4.4. */
export function update({
  pendingVersions,
  publishService,
  archivePublisher,
  uploadLimiter,
}: Pick<
  ApiServices,
  'pendingVersions' | 'publishService' | 'archivePublisher' | 'uploadLimiter'
>): RouteHandlerMethod {
  return (request) => {
    const kind = archiveKind(request.headers['content-type'])
    return kind
      ? uploadLimiter.run(rateLimitSubnet(request.caller.address), () =>
          archivePublisher.update(request.caller, readSlug(request), readArchiveRequest(request, kind)),
        )
      : publishService.update(
          request.caller,
          readSlug(request),
          withClaimToken(request, readManifest(request, pendingVersions)),
        )
  }
}

export function refresh({ publishService }: Pick<ApiServices, 'publishService'>): RouteHandlerMethod {
  return (request) => {
    const body = request.body as { versionId: string; claimToken?: string }
    return publishService.refresh(request.caller, readSlug(request), withClaimToken(request, body))
  }
}

/** Spec 4.5. See `Finalizer` for the charges. */
export function finalize({
  finalizer,
  limits,
}: Pick<ApiServices, 'finalizer' | 'limits'>): RouteHandlerMethod {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const chargeOne = () => charge(limits, request, reply)
    if (request.validationError) {
      await chargeOne()
      throw request.validationError
    }
    const body = request.body as FinalizeRequest
    return finalizer.finalize(request.caller, readSlug(request), withClaimToken(request, body), chargeOne)
  }
}

/**
 * A body has room for a million files, and reporting every violation costs memory and time: too many files
 * are rejected before schema validation.
 */
export async function assertFileCount({ body }: FastifyRequest): Promise<void> {
  const files = (body as { files?: unknown } | null | undefined)?.files
  if (Array.isArray(files) && files.length > MAX_FILES)
    throw validationError([tooManyFiles(files.length, MAX_FILES)])
  // Parsing the body and validating it may take 20 ms each.
  await turn()
}

/**
 * The manifest of a JSON publish. Reports all errors together: those of the schema and those of the rules. For
 * fields that both check, the rules have the better messages.
 */
function readManifest(request: FastifyRequest, staging: PendingVersionStore): PublishRequest {
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw validationError([{ field: 'body', message: 'must be a JSON object with files' }])
  }
  const found = toFieldErrors(request.validationError).filter(({ field }) => !RULE_CHECKED_FIELDS.test(field))
  const problems: FieldError[] = [...staging.validate(request.caller, body as PublishRequest), ...found]
  if (problems.length > 0) throw validationError(problems)
  return body as PublishRequest
}

const RULE_CHECKED_FIELDS = /^(files\b|(viewer\.)?(title|description|ogImagePath|spaMode|ttlSeconds)$)/

/** The names of `include`: what is excluded from archives by default. */
const INCLUDABLE = new Set(['dotfiles', 'secrets'])

function readArchiveRequest(request: FastifyRequest, kind: ArchiveKind): ArchiveRequest {
  const query = request.query as Record<string, string | undefined>
  const { title, description, ogImagePath, spaMode, ttlSeconds, live, keepTopFolder, ifChanged, merge } =
    query
  const include = query.include?.split(',') ?? []
  const problems = [
    ...Object.entries(request.query as object)
      .filter(([, value]) => typeof value !== 'string')
      .map(([field]) => ({ field, message: 'must be given once' })),
    ...include
      .filter((name) => !INCLUDABLE.has(name))
      .map(() => ({ field: 'include', message: 'must be dotfiles, secrets, or both with a comma' })),
    ...Object.entries({ spaMode, live, keepTopFolder, ifChanged, merge })
      .filter(([, value]) => value !== undefined && value !== 'true' && value !== 'false')
      .map(([field]) => ({ field, message: 'must be true or false' })),
  ]
  if (problems.length > 0) throw validationError(problems)
  return withClaimToken(request, {
    kind,
    body: request.body as Readable,
    viewer: {
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description }),
      ...(ogImagePath === undefined ? {} : { ogImagePath }),
      ...(spaMode === undefined ? {} : { spaMode: spaMode === 'true' }),
      ...(ttlSeconds === undefined ? {} : { ttlSeconds: Number(ttlSeconds) }),
    },
    live: live !== 'false',
    ifChanged: ifChanged === 'true',
    include: { dotfiles: include.includes('dotfiles'), secrets: include.includes('secrets') },
    merge: merge === 'true',
    // Paths of a merged archive are relative to the site.
    keepTopFolder: (keepTopFolder ?? merge) === 'true',
    baseVersionId: query.baseVersionId,
    claimToken: query.claimToken,
  })
}
