import type { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ConcurrencyLimiter } from '../lib/concurrency-limiter.ts'
import { ApiError } from '../lib/errors.ts'
import type { Services } from '../services.ts'
import type { ThumbnailTarget } from '../sites/thumbnails.ts'
import { charge } from './auth.ts'
import { readBody } from './bodies.ts'
import { type Call, type Handlers, withClaimToken } from './route.ts'

/** Of a process, and of an account: each compresses a whole version, and holds about 0.6 MB while its client reads. */
const ARCHIVE_DOWNLOADS = { total: 32, perKey: 8 }

export function versionHandlers(services: Services) {
  const { versions, previewLinks, thumbnails } = services
  const downloads = new ConcurrencyLimiter(ARCHIVE_DOWNLOADS)
  return {
    listVersions: ({ account, params }) => versions.list(account, params.slug),
    getVersion: ({ account, params }) => versions.details(account, params.slug, params.versionId),
    restoreVersion: ({ account, params, query }) =>
      versions.restore(account, params.slug, params.versionId, query.baseVersionId),
    deleteVersion: ({ caller, params }) => versions.remove(caller, params.slug, params.versionId),
    createPreviewLink: ({ account, params, query }) =>
      previewLinks.create(account, params.slug, query.versionId),
    putThumbnail: (call) => putThumbnail(call, services),
    getThumbnail: async ({ caller, params, reply }) => {
      const bytes = await thumbnails.get(caller, params)
      setSafeHeaders(reply, 'thumbnail.webp')
      // The address contains a hash of the picture, so that browsers can keep it.
      reply.header('Cache-Control', 'private, max-age=604800')
      return reply.type('image/webp').send(bytes)
    },
    downloadFile: async ({ account, params, query, request, reply }) => {
      const path = params['*']
      const found = await versions.file(account, params.slug, path, query.versionId)
      setSafeHeaders(reply, path.split('/').at(-1)!)
      reply.header('Content-Length', found.size).header('ETag', `"${found.hash}"`).type(found.contentType)
      return sendBytes(request, reply, found.body)
    },
    downloadArchive: ({ account, params: { slug }, query, request, reply }) =>
      downloads.run(account.id, async () => {
        const { format, versionId } = query
        const found = await versions.archive(account, slug, format ?? 'tar', versionId)
        setSafeHeaders(reply, `${slug}.${format ?? 'tar.gz'}`)
        reply.type(format ? 'application/zip' : 'application/gzip')
        // Awaits the end of the response.
        return sendBytes(request, reply, format ? found : gzip(found))
      }),
  } satisfies Partial<Handlers>
}

export function previewHandlers({ previews }: Pick<Services, 'previews'>) {
  return {
    listPreviews: ({ account, params }) => previews.list(account, params.slug),
    getPreview: ({ account, params }) => previews.details(account, params.slug, params.name),
    promotePreview: ({ account, params, query }) =>
      previews.promote(account, params.slug, params.name, query.versionId),
    deletePreview: ({ account, params }) => previews.remove(account, params.slug, params.name),
  } satisfies Partial<Handlers>
}

async function putThumbnail(
  { request, reply, caller, params }: Call<'putThumbnail'>,
  { thumbnails, limits }: Pick<Services, 'thumbnails' | 'limits'>,
) {
  const chargeOne = () => charge(limits, request, reply)
  const type = request.headers['content-type']?.trim().toLowerCase()
  const bytes = await readThumbnail(request, type).catch(async (error: unknown) => {
    await chargeOne()
    throw error
  })
  return thumbnails.put(caller, withClaimToken<ThumbnailTarget>(request, { ...params }), bytes, chargeOne)
}

async function readThumbnail(request: FastifyRequest, type: string | undefined): Promise<Buffer> {
  if (type !== 'image/webp')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'A thumbnail must have Content-Type: image/webp')
  const bytes = await readBody(request, request.raw)
  await request.confirmCaller()
  return bytes
}

/** The stream, compressed; destroys it when destroyed. */
function gzip(stream: Readable): Readable {
  const compressed = createGzip({ level: 5 })
  stream.on('error', (error) => compressed.destroy(error))
  compressed.on('close', () => stream.destroy())
  return stream.pipe(compressed)
}

/**
 * Destroys the stream however the exchange ends. The framework would read it to its end for a HEAD, and leak it when
 * the client has disconnected; an unclosed file handle ends the process when it is collected.
 */
function sendBytes(request: FastifyRequest, reply: FastifyReply, body: Readable): FastifyReply {
  if (reply.raw.destroyed) {
    body.destroy()
    return reply.hijack()
  }
  if (request.method === 'HEAD') body.destroy()
  else reply.raw.once('close', () => body.destroy())
  return reply.send(body)
}

function setSafeHeaders(reply: FastifyReply, name: string): void {
  reply
    .header('Content-Disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name)}`)
    .header('Content-Security-Policy', "default-src 'none'; sandbox")
    .header('X-Content-Type-Options', 'nosniff')
    .header('Cache-Control', 'private, no-store')
}
