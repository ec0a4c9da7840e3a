import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib'
import type { PageSettings } from '../../protocol/api/page-settings.ts'
import { npxCommand } from '../../protocol/client-package.ts'
import { formatDuration } from '../../protocol/format.ts'
import { frontLead } from '../../protocol/front-lead.ts'
import { mediaType } from '../../protocol/manifest/media-type.ts'
import { ENCODINGS, type Encoding } from '../blobs/encoding.ts'
import { publicPolicy, toLastModified } from '../edge/respond/policy.ts'
import { ServedFile, toFileType } from '../edge/respond/served-file.ts'
import { ApiError } from '../lib/errors.ts'
import { escapeHtml } from '../lib/html.ts'
import type { HttpRequest } from '../net/http-handler.ts'
import { type PageResponse, type StaticFile, toPageResponse } from './static-file.ts'

interface BuiltSiteOptions {
  settings: PageSettings
  /** The CSP source of sites: `https://*.{site_domain}`. */
  sites: string
  /** Milliseconds since 1970. */
  clock: () => number
}

/** Outputs of `npm run build`: the pages with their files, and the content of `/docs`. */
const DASHBOARD_FOLDER = join(import.meta.dirname, '../../dashboard/dist')
const REFERENCE_FOLDER = join(import.meta.dirname, 'dist')

/** Where the guides are, with their names. */
const GUIDES = 'docs/'

/** For files with a hash of their content in their names. */
const IMMUTABLE = 'public, max-age=31536000, immutable'

/** The build compressed all files but pages, which are compressed here, at levels for which a client can wait. */
const ENCODERS: Record<Encoding, { suffix: string; encode: (bytes: Buffer) => Promise<Buffer> }> = {
  br: {
    suffix: '.br',
    encode: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  },
  zstd: { suffix: '.zst', encode: promisify(zstdCompress) },
  gzip: { suffix: '.gz', encode: promisify(gzip) },
}

/**
 * The dashboard and the API reference as they were built, served by the edge's responder from memory. Loaded
 * on first use, so that the start does not wait for it, and as a whole: a later build must not be mixed with
 * it. UNAVAILABLE until it is built.
 */
export class BuiltSite {
  readonly #options: BuiltSiteOptions
  #files: Promise<ReadonlyMap<string, StaticFile>> | undefined

  constructor(options: BuiltSiteOptions) {
    this.#options = options
  }

  /** The response to a GET or HEAD of a built file; undefined when there is none of this name. */
  async findResponse(
    name: string,
    request: Pick<HttpRequest, 'headers' | 'isHead'>,
  ): Promise<PageResponse | undefined> {
    const file = (await this.#load()).get(name)
    return file && toPageResponse(file, request)
  }

  /** A failure is not cached. */
  #load(): Promise<ReadonlyMap<string, StaticFile>> {
    this.#files ??= loadFiles(this.#options).catch((error: unknown) => {
      this.#files = undefined
      throw error
    })
    return this.#files
  }
}

async function loadFiles(options: BuiltSiteOptions): Promise<ReadonlyMap<string, StaticFile>> {
  const [built, reference] = await Promise.all([readBuilt(DASHBOARD_FOLDER), readBuilt(REFERENCE_FOLDER)])
  // Pages contain settings, which may change with each start.
  const modified = toLastModified(options.clock())
  const policy = {
    ...publicPolicy({ publishedAt: modified, metadataChangedAt: modified }),
    extraHeaders: securityHeaders(options.sites),
  }
  const load = async (name: string): Promise<[string, StaticFile]> => {
    const bytes = getContent(name, built, reference, options)
    const bodies = new Map<Encoding | undefined, Buffer>([[undefined, bytes]])
    const encodings: Record<Encoding, { size: number } | null> = { br: null, zstd: null, gzip: null }
    for (const encoding of ENCODINGS) {
      const { suffix, encode } = ENCODERS[encoding]
      const encoded = built.get(name + suffix) ?? (await encode(bytes))
      if (encoded.length >= bytes.length) continue
      bodies.set(encoding, encoded)
      encodings[encoding] = { size: encoded.length }
    }
    const served = new ServedFile({
      path: `/${name}`,
      file: { hash: hash('sha256', bytes), size: bytes.length },
      type: toFileType(mediaType(name)),
      findStored: () => ({ encodings }),
      modified,
      policy: { ...policy, cacheControl: name.startsWith('assets/') ? IMMUTABLE : 'no-cache' },
    })
    return [name, { served, bodies }]
  }
  const guides = [...reference.keys()].filter((name) => name.startsWith(GUIDES))
  const names = [...built.keys(), ...guides].filter((name) => !/\.(br|zst|gz)$/.test(name))
  return new Map(await Promise.all(names.map(load)))
}

/** Pages of guides are the page of the reference with another content. */
function getContent(
  name: string,
  built: ReadonlyMap<string, Buffer>,
  reference: ReadonlyMap<string, Buffer>,
  options: BuiltSiteOptions,
): Buffer {
  const content = String(reference.get(name))
  if (/\.(md|txt)$/.test(name) && name.startsWith(GUIDES))
    return Buffer.from(replacePlaceholders(content, options, (text) => text))
  if (!name.endsWith('.html')) return built.get(name)!
  if (!name.startsWith(GUIDES)) return fillIn(String(built.get(name)), content, options)
  const title = /<h1[^>]*>(.*?)<\/h1>/.exec(content)?.[1] ?? ''
  const page = String(built.get('reference.html')).replace('<title>API reference', () => `<title>${title}`)
  return fillIn(page, content, options)
}

/** Replaces the placeholders of a page. */
function fillIn(page: string, reference: string, options: BuiltSiteOptions): Buffer {
  const filled = page.replace('<!-- reference -->', () => reference)
  return Buffer.from(replacePlaceholders(filled, options, escapeHtml))
}

function replacePlaceholders(
  text: string,
  { settings }: BuiltSiteOptions,
  encode: (value: string) => string,
): string {
  const values = {
    base_url: settings.baseUrl,
    lead: frontLead(settings.anonymousPublishing),
    lifetime: formatDuration(settings.anonymousLifetime),
    npx: npxCommand(settings.baseUrl),
    settings: JSON.stringify(settings),
    version: settings.version,
  }
  return text.replace(/\{(base_url|lead|lifetime|npx|settings|version)\}/g, (_, name: keyof typeof values) =>
    encode(values[name]),
  )
}

/**
 * Allows only our own files, images in URLs (thumbnails are drawn from them), and frames of sites. No referrer: the
 * URL of the claim page contains a secret.
 */
function securityHeaders(sites: string): string[] {
  const contentSecurityPolicy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "manifest-src 'self'",
    `img-src 'self' data: ${sites}`,
    "connect-src 'self'",
    "worker-src 'self'",
    `frame-src ${sites}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    'report-uri /_reports/csp',
  ].join('; ')
  return [
    ...['Content-Security-Policy', contentSecurityPolicy],
    ...['Cross-Origin-Opener-Policy', 'same-origin'],
    ...['Permissions-Policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()'],
    ...['Referrer-Policy', 'no-referrer'],
  ]
}

/** The contents of a build output by name. */
async function readBuilt(folder: string): Promise<ReadonlyMap<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause: unknown) => {
    throw new ApiError('UNAVAILABLE', 'The web pages are not built. Run: npm run build', { cause })
  })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const files = paths.map(async (path) => [path.slice(folder.length + 1), await readFile(path)] as const)
  return new Map(await Promise.all(files))
}
