import type { ClientRequest } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { describeConnectionError } from './connection-error.ts'
import { http } from './node-http.ts'
import { authorization, connectionTo, describeRefusal, proxyError } from './proxy.ts'

/** How long a proxy may take to open a tunnel. */
const CONNECT_TIMEOUT_MS = 30_000

/** An agent for `https:` that tunnels its connections through a proxy (RFC 9110, 9.3.6). */
export class TunnelAgent extends https.Agent {
  readonly #proxy: URL
  readonly #opening = new Set<ClientRequest>()

  constructor(proxy: URL, options: https.AgentOptions) {
    super(options)
    this.#proxy = proxy
  }

  override createConnection(
    options: https.RequestOptions,
    callback: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    const { host, port, timeout } = options
    const target = `${host?.includes(':') ? `[${host}]` : host}:${port}`
    this.#openTunnel(target).then(
      (tunnel) => {
        const socket = super.createConnection({ ...options, socket: tunnel } as object) as Socket
        // Node sets it only for sockets that it opens itself.
        if (timeout) socket.setTimeout(timeout)
        callback(null, socket)
      },
      (error: Error) => callback(error, undefined as never),
    )
  }

  override destroy(): void {
    for (const request of this.#opening) request.destroy()
    super.destroy()
  }

  #openTunnel(target: string): Promise<Duplex> {
    const proxy = this.#proxy
    return new Promise((resolve, reject) => {
      const fail = (reason: string) => {
        reject(proxyError(proxy, reason))
        request.destroy()
      }
      const { request: open } = proxy.protocol === 'https:' ? https : http
      const headers = { Host: target, ...authorization(proxy) }
      const request = open({ ...connectionTo(proxy), method: 'CONNECT', path: target, headers, agent: false })
      const timer = setTimeout(() => fail('did not respond in time'), CONNECT_TIMEOUT_MS)
      this.#opening.add(request)
      request.on('close', () => {
        clearTimeout(timer)
        this.#opening.delete(request)
      })
      request.on('error', (error) => fail(`failed: ${describeConnectionError(error)}`))
      request.on('connect', ({ statusCode = 0 }, socket, head) => {
        clearTimeout(timer)
        this.#opening.delete(request)
        // The server of a TLS connection never speaks first.
        const isOpen = statusCode >= 200 && statusCode < 300 && head.length === 0
        if (isOpen) return resolve(socket)
        socket.destroy()
        fail(describeRefusal(statusCode))
      })
      request.end()
    })
  }
}
