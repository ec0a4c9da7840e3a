import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { FinalizeRequest, PublishRequest } from '../../client/wire.ts'
import { type ArchiveKind, archiveKind } from '../archive/archive.ts'
import type { ArchiveRequest } from '../archive-publish.ts'
import { invalid, type Problem } from '../failure.ts'
import { MOST_FILES, tooManyFiles } from '../file.ts'
import { network } from '../limits/limits.ts'
import type { Staging } from '../stage.ts'
import { charge } from './admission.ts'
import { schemaProblems } from './failures.ts'
import type { Rooms } from './rooms.ts'
import { slugOf } from './sites.ts'

/** Spec 4.3, and contract "One request". */
export function create({
  staging,
  publishing,
  archives,
  uploads,
}: Pick<Rooms, 'staging' | 'publishing' | 'archives' | 'uploads'>): RouteHandlerMethod {
  return async (request, reply) => {
    const kind = archiveKind(request.headers['content-type'])
    const answer = kind
      ? await uploads.take(network(request.caller.address), () =>
          archives.create(request.caller, archiveOf(request, kind)),
        )
      : await publishing.create(request.caller, manifestOf(request, staging))
    reply.code(201)
    return answer
  }
}

/** Spec 4.4. */
export function update({
  staging,
  publishing,
  archives,
  uploads,
}: Pick<Rooms, 'staging' | 'publishing' | 'archives' | 'uploads'>): RouteHandlerMethod {
  return (request) => {
    const kind = archiveKind(request.headers['content-type'])
    return kind
      ? uploads.take(network(request.caller.address), () =>
          archives.update(request.caller, slugOf(request), archiveOf(request, kind)),
        )
      : publishing.update(request.caller, slugOf(request), manifestOf(request, staging))
  }
}

export function refresh({ publishing }: Pick<Rooms, 'publishing'>): RouteHandlerMethod {
  return (request) => {
    const body = request.body as { versionId: string; claimToken?: string }
    return publishing.refresh(request.caller, slugOf(request), body)
  }
}

/** Spec 4.5. Completing an admitted publish is not charged; everything else is. */
export function finalize({ finalizing, limits }: Pick<Rooms, 'finalizing' | 'limits'>): RouteHandlerMethod {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const body = (request.body ?? {}) as Partial<FinalizeRequest>
    const free =
      typeof body.versionId === 'string' && (await finalizing.completes(slugOf(request), body.versionId))
    if (!free) await charge(limits, request, reply)
    if (request.validationError) throw request.validationError
    return finalizing.finalize(request.caller, slugOf(request), body as FinalizeRequest)
  }
}

/**
 * A body has room for a million files, and what the schema would have to say about each costs memory and time that
 * others need: so many are refused before it looks at them.
 */
export async function refuseTooMany({ body }: FastifyRequest): Promise<void> {
  const files = (body as { files?: unknown } | null | undefined)?.files
  if (Array.isArray(files) && files.length > MOST_FILES)
    throw invalid([tooManyFiles(files.length, MOST_FILES)])
}

/**
 * The manifest of a JSON publish. All that is wrong is told at once: what the schema finds and what only the
 * rules know. Of the fields that both look at, the rules have the better words.
 */
function manifestOf(request: FastifyRequest, staging: Staging): PublishRequest {
  const { body } = request
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw invalid([{ field: 'body', message: 'must be a JSON object with files' }])
  }
  const found = schemaProblems(request.validationError).filter(({ field }) => !RULED.test(field))
  const problems: Problem[] = [...staging.problems(request.caller, body as PublishRequest), ...found]
  if (problems.length > 0) throw invalid(problems)
  return body as PublishRequest
}

const RULED = /^(files\b|(viewer\.)?(title|description|ogImagePath|spaMode|ttlSeconds)$)/

function archiveOf(request: FastifyRequest, kind: ArchiveKind): ArchiveRequest {
  const { title, description, ogImagePath, spaMode, ttlSeconds, live, baseVersionId, claimToken } =
    request.query as Record<string, string | undefined>
  const problems = [
    ...Object.entries(request.query as object)
      .filter(([, value]) => typeof value !== 'string')
      .map(([field]) => ({ field, message: 'must be given once' })),
    ...Object.entries({ spaMode, live })
      .filter(([, value]) => value !== undefined && value !== 'true' && value !== 'false')
      .map(([field]) => ({ field, message: 'must be true or false' })),
  ]
  if (problems.length > 0) throw invalid(problems)
  return {
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
    baseVersionId,
    claimToken,
  }
}
