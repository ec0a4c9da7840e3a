import { dirname, join } from 'node:path'
import { BANNER_HEADER, type Banner, decodeBanner } from '../../protocol/api/banner.ts'
import type { Transport } from '../sdk/transport.ts'
import type { Settings } from './settings.ts'
import { readPrivate, writePrivate } from './state/private-file.ts'
import type { Terminal } from './terminal/terminal.ts'

/** The messages of the operators of the servers that a command used, by server. */
export class ReceivedBanners {
  readonly #received = new Map<string, Banner>()

  /** A transport that keeps the banner in responses of this server. */
  watch(server: string, send: Transport): Transport {
    return async (request) => {
      const response = await send(request)
      const value = request.url.startsWith(`${server}/`) ? response.header(BANNER_HEADER.toLowerCase()) : null
      const banner = value === null ? undefined : decodeBanner(value)
      if (banner) this.#received.set(server, banner)
      return response
    }
  }

  /** Prints those that differ from the last one of their server, on stderr. */
  print(terminal: Terminal, { keysFile }: Settings): void {
    if (this.#received.size === 0) return
    const file = join(dirname(keysFile), 'banners.json')
    const shown = readShown(file)
    const fresh = [...this.#received].filter(([server, { text }]) => shown[server] !== text)
    for (const [server, banner] of fresh) terminal.printNote(describe(server, banner))
    if (fresh.length === 0) return
    try {
      writePrivate(file, {
        ...shown,
        ...Object.fromEntries(fresh.map(([server, { text }]) => [server, text])),
      })
    } catch {
      // A home folder that cannot be written to: the message is printed again.
    }
  }
}

function readShown(file: string): Record<string, unknown> {
  try {
    return (readPrivate(file) ?? {}) as Record<string, unknown>
  } catch {
    return {}
  }
}

function describe(server: string, { level, text, link }: Banner): string {
  const label = level === 'warning' ? 'Warning' : 'Message'
  return `${label} from ${new URL(server).host}: ${text}${link === null ? '' : ` ${link}`}`
}
