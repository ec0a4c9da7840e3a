import { Component } from './component.ts'
import { MINUTE_MS } from './time.ts'
import { type Secrets, Signer } from './tokens.ts'

/** The header by which `slipway-server check` proves that it has the secret of the service. */
export const PROBE_HEADER = 'x-slipway-probe'

/** Tokens that are valid for a minute, by the clocks of two machines. */
export class ProbeToken extends Component<Secrets> {
  readonly #signer = new Signer(this.parts, 'probe')

  create(now: number): string {
    return `${now}.${this.#signer.sign([now])}`
  }

  isValid(token: string | string[] | undefined, now: number): boolean {
    const [, time = '', signature = ''] = /^(\d{1,15})\.([\w-]{1,100})$/.exec(String(token)) ?? []
    const isRecent = time !== '' && Math.abs(now - Number(time)) <= MINUTE_MS
    return isRecent && this.#signer.verify([Number(time)], signature)
  }
}
