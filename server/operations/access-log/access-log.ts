import { type RequestLike, shortenAddress } from '../../../packages/http-server/clients/client-ip.ts'
import { Component } from '../../lib/component.ts'
import { type Log, MAX_LOGGED_PATH_LENGTH } from '../../lib/log.ts'
import type { Metrics } from '../../lib/metrics.ts'
import type { LoggedRequest, RequestLog } from '../../lib/request-log.ts'
import { LogFile } from './log-file.ts'

interface AccessLogOptions {
  /** `stdout`, or the path of a file. */
  target: string
  format: LogFormat
  addresses: AddressForm
  clientIp: (request: RequestLike) => string
  clock: () => number
  metrics: Metrics
  log: Log
}

const STDOUT_FD = 1

export class AccessLog extends Component<AccessLogOptions> implements RequestLog, AsyncDisposable {
  readonly #file = this.#open()
  readonly #format = this.parts.format === 'json' ? jsonLine : combinedLine

  add(request: LoggedRequest): void {
    this.#file.add(this.#format({ ...request, time: this.parts.clock(), address: this.#address(request) }))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file[Symbol.asyncDispose]()
  }

  #open(): LogFile {
    const { target, metrics, log } = this.parts
    const lines = (outcome: string) => metrics.counter('slipway_access_log_lines_total', { outcome })
    return new LogFile({
      target: target === 'stdout' ? { fd: STDOUT_FD } : target,
      log,
      written: lines('written'),
      dropped: lines('dropped'),
    })
  }

  #address(request: LoggedRequest): string | undefined {
    const { addresses, clientIp } = this.parts
    if (addresses === 'none') return undefined
    const address = clientIp(request)
    // Without the prefix length, which programs that read logs do not expect.
    return addresses === 'full' ? address : shortenAddress(address).replace(/\/\d+$/, '')
  }
}

type LogFormat = 'combined' | 'json'

/** `short` is the network: IPv4 /24, IPv6 /48. */
type AddressForm = 'short' | 'full' | 'none'

interface LogEntry extends LoggedRequest {
  time: number
  /** As the setting permits; undefined when it is not logged. */
  address: string | undefined
}

const MAX_VALUE_LENGTH = 512

/**
 * The combined log format of Apache and nginx, followed by the host in quotes: sites have hosts of their own. What a
 * client sends is escaped, so that it can neither begin a line nor end a field.
 */
export function combinedLine(entry: LogEntry): string {
  const { address = '-', method, path, query, status, bytes, host, headers } = entry
  const target = escapeCombined(path + query, MAX_LOGGED_PATH_LENGTH)
  const referer = escapeCombined(readReferer(headers) ?? '-')
  const agent = escapeCombined(readHeader(headers, 'user-agent') ?? '-')
  const line = `"${escapeCombined(method)} ${target} ${protocolOf(entry)}"`
  return `${address} - - [${formatTime(entry.time)}] ${line} ${status} ${bytes} "${referer}" "${agent}" "${escapeCombined(host)}"\n`
}

export function jsonLine(entry: LogEntry): string {
  const { time, address, method, host, path, query, status, bytes, milliseconds, headers } = entry
  const text = JSON.stringify({
    time: new Date(time).toISOString(),
    address,
    method: shorten(method),
    host: shorten(host),
    path: shorten(path + query, MAX_LOGGED_PATH_LENGTH),
    protocol: protocolOf(entry),
    status,
    bytes,
    milliseconds: milliseconds === undefined ? undefined : Math.round(milliseconds * 10) / 10,
    referer: shorten(readReferer(headers)),
    userAgent: shorten(readHeader(headers, 'user-agent')),
  })
  // JSON permits these; a terminal may obey them.
  return `${text.replace(/[\x7f-\x9f]/g, (character) => `\\u00${hexCode(character)}`)}\n`
}

/** Without its query, which may have credentials of the site that it names. */
function readReferer(headers: LoggedRequest['headers']): string | undefined {
  return readHeader(headers, 'referer')?.split(/[?#]/, 1)[0]
}

function readHeader(headers: LoggedRequest['headers'], name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : value?.join(', ')
}

function protocolOf({ socket }: LoggedRequest): string {
  return (socket as { alpnProtocol?: unknown }).alpnProtocol === 'h2' ? 'HTTP/2.0' : 'HTTP/1.1'
}

function escapeCombined(text: string, maxLength = MAX_VALUE_LENGTH): string {
  return shorten(text, maxLength).replace(/[^\x20-\x7e]|["\\]/g, (character) => `\\x${hexCode(character)}`)
}

function hexCode(character: string): string {
  return character.charCodeAt(0).toString(16).padStart(2, '0')
}

function shorten(text: string, maxLength?: number): string
function shorten(text: string | undefined, maxLength?: number): string | undefined
function shorten(text: string | undefined, maxLength = MAX_VALUE_LENGTH): string | undefined {
  return text?.slice(0, maxLength)
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `23/Nov/2026:10:55:00 +0000`, in UTC. */
function formatTime(time: number): string {
  const date = new Date(time).toISOString()
  const month = MONTHS[Number(date.slice(5, 7)) - 1]
  return `${date.slice(8, 10)}/${month}/${date.slice(0, 4)}:${date.slice(11, 19)} +0000`
}
