import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib'
import type { HttpRequest } from '../../packages/http-server/http-handler.ts'
import type { Banner } from '../../protocol/api/banner.ts'
import type { PageSettings } from '../../protocol/api/page-settings.ts'
import { DEFAULT_BRANDING, LOGO_PATH, legalLinks } from '../../protocol/branding.ts'
import { npxCommand } from '../../protocol/client-package.ts'
import { frontLead } from '../../protocol/front-lead.ts'
import { mediaType } from '../../protocol/manifest/media-type.ts'
import { ENCODINGS, type Encoding } from '../blobs/encoding.ts'
import { publicPolicy, toLastModified } from '../edge/respond/policy.ts'
import { ServedFile, toFileType } from '../edge/respond/served-file.ts'
import { type Accents, accentStyle, DEFAULT_ACCENT, type Logo } from '../lib/branding.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import { escapeHtml, Html, html } from '../lib/html.ts'
import { shareSuccess } from '../lib/share-result.ts'
import { instructions } from './agent-files.ts'
import { GUIDES } from './guides.ts'
import { type PageResponse, type StaticFile, staticFile, toPageResponse } from './static-file.ts'

interface BuiltSiteOptions {
  settings: PageSettings
  accents: Accents | undefined
  logo: Logo | undefined
  banner: () => Banner | undefined
  /** The CSP source of sites: `https://*.{site_domain}`. */
  sites: string
  clock: () => number
}

/** Outputs of `npm run build`: the pages with their files, and the contents of `/docs`. */
const DASHBOARD_FOLDER = join(import.meta.dirname, '../../dashboard/dist')
const REFERENCE_FOLDER = join(import.meta.dirname, 'dist')

const DOCS = 'docs/'

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

/** Pages of sites load it too (Cross-Origin-Resource-Policy). */
const LOGO_HEADERS = [
  ...['Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox"],
  ...['Cross-Origin-Resource-Policy', 'cross-origin'],
]

type Builds = Awaited<ReturnType<typeof readBuilds>>

/**
 * The dashboard and the API reference as they were built, served by the edge's responder from memory. Read
 * on first use, so that the start does not wait for it, and as a whole: a later build must not be mixed with
 * it. Pages are filled in again when the banner changes. UNAVAILABLE until it is built.
 */
export class BuiltSite extends Component<BuiltSiteOptions> {
  readonly #builds = shareSuccess(readBuilds)
  /** The files, with the banner that their pages show. */
  #site: { banner: string; files: Promise<FilledFiles> } | undefined
  #logo: StaticFile | undefined

  /** Undefined when there is no file of this name. */
  async findResponse(
    name: string,
    request: Pick<HttpRequest, 'headers' | 'isHead'>,
  ): Promise<PageResponse | undefined> {
    const file = await (await this.#fill()).get(name)
    return file && toPageResponse(file, request)
  }

  /** The logo of the operator; undefined without one. Opened as a document, it is in a sandbox. */
  findLogo(request: Pick<HttpRequest, 'headers' | 'isHead'>): PageResponse | undefined {
    const { logo, clock } = this.parts
    if (!logo) return undefined
    this.#logo ??= staticFile({ path: LOGO_PATH, ...logo, modifiedAt: clock(), headers: LOGO_HEADERS })
    return toPageResponse(this.#logo, request)
  }

  /** A failure is not cached. */
  #fill(): Promise<FilledFiles> {
    const shown = this.parts.banner()
    const banner = JSON.stringify(shown) ?? ''
    if (this.#site?.banner === banner) return this.#site.files
    const settings = { ...this.parts.settings, ...(shown && { banner: shown }) }
    const earlier = this.#site?.files
    const files = this.#builds().then(
      async (builds) =>
        new FilledFiles({ builds, options: { ...this.parts, settings }, earlier: (await earlier)?.loaded }),
    )
    const site = { banner, files }
    this.#site = site
    files.catch(() => {
      if (this.#site === site) this.#site = undefined
    })
    return files
  }
}

async function readBuilds() {
  const [built, reference] = await Promise.all([readBuilt(DASHBOARD_FOLDER), readBuilt(REFERENCE_FOLDER)])
  return { built, reference }
}

interface FilledFilesParts {
  builds: Builds
  options: BuiltSiteOptions
  earlier: ReadonlyMap<string, Promise<StaticFile>> | undefined
}

/** At the first request: all take seconds of CPU time. Files whose content is that of `earlier` stay the same. */
class FilledFiles extends Component<FilledFilesParts> {
  /** Pages contain settings, which may change with each start. */
  readonly #modified = toLastModified(this.parts.options.clock())
  readonly loaded = new Map<string, Promise<StaticFile>>()

  get(name: string): Promise<StaticFile> | undefined {
    const { built, reference } = this.parts.builds
    const isBuilt = built.has(name) || (name.startsWith(DOCS) && reference.has(name))
    if (!isBuilt || /\.(br|zst|gz)$/.test(name)) return undefined
    const known = this.loaded.get(name)
    if (known) return known
    const file = this.#load(name)
    this.loaded.set(name, file)
    // A failure is not cached.
    file.catch(() => this.loaded.delete(name))
    return file
  }

  async #load(name: string): Promise<StaticFile> {
    const bytes = getContent(name, this.parts.builds, this.parts.options)
    const known = await this.parts.earlier?.get(name)
    if (known?.bodies.get(undefined)?.equals(bytes)) return known
    const bodies = new Map<Encoding | undefined, Buffer>([[undefined, bytes]])
    const encodings: Record<Encoding, { size: number } | null> = { br: null, zstd: null, gzip: null }
    for (const encoding of ENCODINGS) {
      const { suffix, encode } = ENCODERS[encoding]
      const encoded = this.parts.builds.built.get(name + suffix) ?? (await encode(bytes))
      if (encoded.length >= bytes.length) continue
      bodies.set(encoding, encoded)
      encodings[encoding] = { size: encoded.length }
    }
    const modified = this.#modified
    const served = new ServedFile({
      path: `/${name}`,
      file: { hash: hash('sha256', bytes), size: bytes.length },
      type: toFileType(mediaType(name)),
      findStored: () => ({ encodings }),
      modified,
      policy: {
        ...publicPolicy({ publishedAt: modified, metadataChangedAt: modified }),
        extraHeaders: securityHeaders(this.parts.options),
        cacheControl: name.startsWith('assets/') ? IMMUTABLE : 'no-cache',
      },
    })
    return { served, bodies }
  }
}

function getContent(name: string, { built, reference }: Builds, options: BuiltSiteOptions): Buffer {
  if (name.startsWith(DOCS)) return getGuide(name, String(reference.get(name)), { built, options })
  const content = built.get(name)!
  if (name.endsWith('.webmanifest')) return Buffer.from(fillManifest(String(content), options))
  return name.endsWith('.html') ? fillIn(String(content), options) : content
}

/** A page of `/docs` in the frame of `reference.html`, its text as Markdown, or the index of the search. */
function getGuide(
  name: string,
  content: string,
  { built, options }: { built: Builds['built']; options: BuiltSiteOptions },
): Buffer {
  if (name.endsWith('.json')) return Buffer.from(replacePlaceholders(content, options, escapeJson))
  if (!name.endsWith('.html')) return Buffer.from(replacePlaceholders(content, options, (text) => text))
  const title = /<h1[^>]*>(.*?)<\/h1>/.exec(content)?.[1] ?? ''
  const guide = GUIDES.flatMap(([, guides]) => guides).find((one) => name === `${DOCS}${one.name}.html`)
  const about = guide
    ? `${guide.title}: ${guide.about}`
    : 'Publish a folder and get its URL: guides and reference'
  const page = String(built.get('reference.html'))
    .replace(
      '<title>API reference',
      () => html`<meta name="description" content="${about}">\n    <title>${new Html(title)}`.text,
    )
    .replace('<!-- reference -->', () => content)
  return fillIn(page, options)
}

function fillIn(page: string, options: BuiltSiteOptions): Buffer {
  return Buffer.from(replacePlaceholders(withBranding(page, options), options, escapeHtml))
}

/** Adds the colors after the style sheet, and the logo in place of all icons. */
function withBranding(page: string, { settings, accents, logo }: BuiltSiteOptions): string {
  const style = accents ? `<style>${accentStyle(accents)}</style>` : ''
  const styled = page.replace('</head>', () => `${style}</head>`)
  const marked = logo ? withLogo(styled, logo) : styled
  // The picture of link previews shows the default name and mark.
  if (settings.branding.name === DEFAULT_BRANDING.name && !logo) return marked
  return marked.replace(/<meta (?:property="og:image|name="twitter:card)[^<>]*>/g, '')
}

function withLogo(page: string, { type }: Logo): string {
  return page
    .replace(/<link rel="(?:icon" href="\/favicon\.ico|apple-touch-icon)"[^<>]*>/g, '')
    .replace('href="/favicon.svg" type="image/svg+xml"', `href="${LOGO_PATH}" type="${type}"`)
    .replaceAll('src="/favicon.svg"', `src="${LOGO_PATH}"`)
}

function fillManifest(manifest: string, options: BuiltSiteOptions): string {
  const filled = replacePlaceholders(manifest, options, escapeJson)
  const { logo } = options
  if (!logo) return filled
  const icons = [{ src: LOGO_PATH, type: logo.type, sizes: 'any', purpose: 'any' }]
  return JSON.stringify({ ...JSON.parse(filled), icons })
}

function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

const PLACEHOLDERS = /\{(accent|agent_text|base_url|lead|legal_links|npx|service_name|settings|version)\}/g

function replacePlaceholders(
  text: string,
  { settings, accents }: BuiltSiteOptions,
  encode: (value: string) => string,
): string {
  const { branding } = settings
  const links = legalLinks(branding).map(({ label, url }) => html`<a href="${url}">${label}</a>`)
  const values = {
    accent: accents?.light.accent ?? DEFAULT_ACCENT,
    agent_text: instructions(settings),
    base_url: settings.baseUrl,
    lead: frontLead(settings.anonymousPublishing),
    legal_links: html`${links}`,
    npx: npxCommand(settings.baseUrl),
    service_name: branding.name,
    settings: JSON.stringify(settings),
    version: settings.version,
  }
  return text.replace(PLACEHOLDERS, (_, name: keyof typeof values) => {
    const value = values[name]
    return typeof value === 'string' ? encode(value) : value.text
  })
}

/** Own files, images in URLs (for thumbnails), frames of sites. No referrer: the URL of the claim page has a secret. */
function securityHeaders({ sites, accents }: BuiltSiteOptions): string[] {
  const ownStyle = accents ? ` 'sha256-${hash('sha256', accentStyle(accents), 'base64')}'` : ''
  const contentSecurityPolicy = [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${ownStyle}`,
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

async function readBuilt(folder: string): Promise<ReadonlyMap<string, Buffer>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause: unknown) => {
    throw new ApiError('UNAVAILABLE', 'The web pages are not built. Run: npm run build', { cause })
  })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const files = paths.map(async (path) => [path.slice(folder.length + 1), await readFile(path)] as const)
  return new Map(await Promise.all(files))
}
