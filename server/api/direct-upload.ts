import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { ArchiveResponse } from '../../protocol/api/publish.schema.ts'
import { ARCHIVE_TYPES, CLAIM_TOKEN_HEADER } from '../../protocol/api/publish.ts'
import { formatAlternatives, formatUtc } from '../../protocol/format.ts'
import { describePublish } from '../../protocol/publish-story.ts'
import { needsKeyOrToken, publishScope } from '../accounts/authorization.ts'
import { ApiError } from '../lib/errors.ts'
import { archiveKind } from '../publish/archive/archive.ts'
import { detectKind } from '../publish/archive/detect-kind.ts'
import type { Services } from '../services.ts'
import { CLIENT_HEADER } from './auth.ts'
import { publishDirectly, readArchiveRequest } from './publish.ts'
import { type Call, type Handlers, withClaimToken } from './route.ts'

/**
 * `curl -T site.zip {base_url}`: the first line of the response is the URL of the site, unless the client accepts JSON. The
 * format follows from the Content-Type, the first bytes or the file name. A path without a dot is the slug of the site.
 */
export function directUploadHandlers(services: Services) {
  const upload = async ({ request, reply }: Call<'uploadSite' | 'uploadVersion'>) => {
    // With a dot it is a file name, which no slug has.
    const { slug: name = '' } = request.params as { slug?: string }
    const slug = name === '' || name.includes('.') ? undefined : name
    reply.code(slug === undefined ? 201 : 200)
    const answer = await publishBody(request, services, { name, slug })
    const url = answer.preview?.url ?? answer.siteUrl
    reply.header('Location', url)
    if (answer.claimUrl !== undefined) reply.header('X-Slipway-Claim-Url', answer.claimUrl)
    if (answer.claimToken !== undefined) reply.header(CLAIM_TOKEN_HEADER, answer.claimToken)
    if (request.headers.accept?.includes('application/json')) return answer
    const isNew = slug === undefined && answer.preview === undefined
    const update = isNew ? updateCommand(request, services.baseUrl, answer, name) : undefined
    const { claimUrl: keep, expiresAt } = answer
    const expires = expiresAt === undefined ? undefined : formatUtc(expiresAt)
    const lines = [url, ...describePublish({ ...answer, expires, keep, update })]
    return reply.type('text/plain; charset=utf-8').send(`${lines.join('\n')}\n`)
  }
  return { uploadSite: upload, uploadVersion: upload } satisfies Partial<Handlers>
}

function updateCommand(
  { caller, headers }: FastifyRequest,
  baseUrl: string,
  { slug, claimToken }: ArchiveResponse,
  name: string,
): string {
  if (headers[CLIENT_HEADER] === 'publish.sh') {
    const credential = claimToken === undefined ? '' : ` SLIPWAY_CLAIM_TOKEN=${claimToken}`
    return `curl -fsSL ${baseUrl}/publish.sh | SLIPWAY_SITE=${slug}${credential} sh -s FOLDER`
  }
  const file = /^\w[\w.-]*$/.test(name) ? name : 'FILE'
  const credential =
    caller.account === undefined
      ? `X-Slipway-Claim-Token: ${claimToken}`
      : 'Authorization: Bearer $SLIPWAY_KEY'
  return `curl -T ${file} -H "${credential}" ${baseUrl}/${slug}`
}

async function publishBody(
  request: FastifyRequest,
  services: Pick<Services, 'archivePublisher' | 'pendingVersions' | 'publishQueue'>,
  { name, slug }: { name: string; slug: string | undefined },
) {
  const body = request.body as Readable | null | undefined
  if (!body) throw unknownKind()
  const query = request.query as { claimToken?: string; preview?: string }
  const { claimToken, preview } = withClaimToken(request, query)
  if (slug !== undefined) {
    const hint = `A path without a dot is the name of a site to update: send its key, or its claim token as X-Slipway-Claim-Token. For a new site, add an extension, such as ${slug}.html.`
    if (!request.caller.account && claimToken === undefined) throw needsKeyOrToken(hint)
    const scope = publishScope(preview)
    await services.pendingVersions.authorize(request.caller, slug, { claimToken, scope })
  }
  const named = archiveKind(request.headers['content-type'])
  if (named) return publishDirectly(services, request, readArchiveRequest(request, named, body), slug)
  using detected = await detectKind(body, name)
  if (!detected.kind || detected.remedy) throw unknownKind(detected.remedy)
  const direct = readArchiveRequest(request, detected.kind, detected.body)
  return await publishDirectly(services, request, direct, slug)
}

function unknownKind(remedy?: string): ApiError {
  const sentence = `The body must be a zip, tar or tar.gz archive, or an HTML page. Use ${formatAlternatives(ARCHIVE_TYPES)} if its type is not recognized.`
  return new ApiError('UNSUPPORTED_MEDIA_TYPE', sentence, remedy === undefined ? {} : { hint: remedy })
}
