import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { CLIENT_PACKAGE_PATH, type PackageServer, quoteShell } from '../../protocol/client-package.ts'
import { padding, TAR_END, tarHeader } from '../../protocol/tar.ts'
import { ApiError } from '../lib/errors.ts'
import type { HttpRequest } from '../net/http-handler.ts'
import { type PageResponse, type StaticFile, staticFile, toPageResponse } from './static-file.ts'

interface ClientDownloadOptions {
  baseUrl: string
  /** Milliseconds since 1970. */
  clock: () => number
}

/** The npm package of the client without the end of the tar, from `npm run build`. */
const PACKAGE_TAR = join(import.meta.dirname, '../../client/dist/package.tar')
const INSTALL_SCRIPT = join(import.meta.dirname, 'install.sh')

/**
 * The npm package of the client, which knows the URL of this service, and the script that installs it. Made on
 * first use, then kept. UNAVAILABLE until the client is built.
 */
export class ClientDownload {
  readonly #options: ClientDownloadOptions
  #package: Promise<StaticFile> | undefined
  #script: Promise<StaticFile> | undefined

  constructor(options: ClientDownloadOptions) {
    this.#options = options
  }

  /** The response to a GET or HEAD of `/cli.tgz`. */
  async getPackage(request: Pick<HttpRequest, 'headers' | 'isHead'>): Promise<PageResponse> {
    // A failure is not cached.
    this.#package ??= this.#pack().catch((error: unknown) => {
      this.#package = undefined
      throw error
    })
    return toPageResponse(await this.#package, request)
  }

  /** The response to a GET or HEAD of `/install.sh`. */
  async getInstallScript(request: Pick<HttpRequest, 'headers' | 'isHead'>): Promise<PageResponse> {
    this.#script ??= this.#writeScript()
    return toPageResponse(await this.#script, request)
  }

  async #pack(): Promise<StaticFile> {
    const built = await readFile(PACKAGE_TAR).catch((cause: unknown) => {
      throw new ApiError('UNAVAILABLE', 'The client is not built. Run: npm run build', { cause })
    })
    const content: PackageServer = { server: this.#origin }
    const settings = Buffer.from(JSON.stringify(content))
    const entry = [tarHeader('package/server.json', settings.length), settings, padding(settings.length)]
    const tar = Buffer.concat([built, ...entry, TAR_END])
    const bytes = await promisify(gzip)(tar, { level: constants.Z_BEST_COMPRESSION })
    return staticFile({
      path: CLIENT_PACKAGE_PATH,
      type: 'application/gzip',
      bytes,
      modifiedAt: this.#options.clock(),
    })
  }

  async #writeScript(): Promise<StaticFile> {
    const script = await readFile(INSTALL_SCRIPT, 'utf8')
    const url = quoteShell(this.#origin + CLIENT_PACKAGE_PATH)
    const bytes = Buffer.from(script.replace('{package}', () => url))
    const type = 'text/x-shellscript; charset=utf-8'
    return staticFile({ path: '/install.sh', type, bytes, modifiedAt: this.#options.clock() })
  }

  /** `{base_url}` in its normal form, without characters that a URL parser removes. */
  get #origin(): string {
    return new URL(this.#options.baseUrl).origin
  }
}
