import { type RequestLike, shortenAddress } from '../../../packages/http-server/clients/client-ip.ts'
import type { Log } from '../../lib/log.ts'
import type { Metrics } from '../../lib/metrics.ts'
import type { LoggedRequest, RequestLog } from '../../lib/request-log.ts'
import { type AddressForm, combinedLine, jsonLine, type LogFormat } from './format.ts'
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

/** A line for each request, of sites and of the service. */
export class AccessLog implements RequestLog, AsyncDisposable {
  readonly #options: AccessLogOptions
  readonly #file: LogFile
  readonly #format: typeof combinedLine

  constructor(options: AccessLogOptions) {
    this.#options = options
    this.#format = options.format === 'json' ? jsonLine : combinedLine
    const { target, metrics, log } = options
    const lines = (outcome: string) => metrics.counter('slipway_access_log_lines_total', { outcome })
    this.#file = new LogFile({
      target: target === 'stdout' ? { fd: STDOUT_FD } : target,
      log,
      written: lines('written'),
      dropped: lines('dropped'),
    })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file[Symbol.asyncDispose]()
  }

  add(request: LoggedRequest): void {
    const { clock } = this.#options
    this.#file.add(this.#format({ ...request, time: clock(), address: this.#address(request) }))
  }

  #address(request: LoggedRequest): string | undefined {
    const { addresses, clientIp } = this.#options
    if (addresses === 'none') return undefined
    const address = clientIp(request)
    // Without the prefix length, which programs that read logs do not expect.
    return addresses === 'full' ? address : shortenAddress(address).replace(/\/\d+$/, '')
  }
}
