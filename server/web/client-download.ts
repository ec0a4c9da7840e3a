import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { CLIENT_PACKAGE_PATH, type PackageServer, quoteShell } from '../../protocol/client-package.ts'
import { EXCLUDED_NAMES } from '../../protocol/ignore/default-rules.ts'
import { padding, TAR_END, tarHeader } from '../../protocol/tar.ts'
import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import { shareSuccess } from '../lib/share-result.ts'
import { type StaticFile, staticFile } from './static-file.ts'

export const SCRIPT_NAMES = ['install.sh', 'publish.sh'] as const
type ScriptName = (typeof SCRIPT_NAMES)[number]

/** The npm package of the client without the end of the tar, from `npm run build`. */
const PACKAGE_TAR = join(import.meta.dirname, '../../client/dist/package.tar')

/**
 * The npm package of the client, which knows the URL of this service, the script that installs it, and one that
 * publishes without it. Made on first use, then kept. UNAVAILABLE until the client is built.
 */
export class ClientDownload extends Component<{ baseUrl: string; clock: () => number }> {
  readonly getPackage = shareSuccess(() => this.#pack())
  readonly getScript = shareSuccess((name: ScriptName) => this.#writeScript(name))

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
      modifiedAt: this.parts.clock(),
    })
  }

  async #writeScript(name: ScriptName): Promise<StaticFile> {
    const script = await readFile(join(import.meta.dirname, name), 'utf8')
    const values: Record<string, string> = {
      package: quoteShell(this.#origin + CLIENT_PACKAGE_PATH),
      server: quoteShell(this.#origin),
      // Patterns of `case`.
      secrets: EXCLUDED_NAMES.secrets.join(' | '),
      repositories: EXCLUDED_NAMES.repositories.join(' | '),
      system: EXCLUDED_NAMES.system.join(' | '),
    }
    const text = script.replace(
      /(=| {6})\{(\w+)\}/g,
      (_, before: string, key: string) => before + values[key]!,
    )
    const bytes = Buffer.from(text)
    const type = 'text/x-shellscript; charset=utf-8'
    return staticFile({ path: `/${name}`, type, bytes, modifiedAt: this.parts.clock() })
  }

  /** `{base_url}` in its normal form, without characters that a URL parser removes. */
  get #origin(): string {
    return new URL(this.parts.baseUrl).origin
  }
}
