import type { Branding } from '../../protocol/branding.ts'
import type { Accents } from './accent.ts'

export interface Logo {
  type: 'image/svg+xml' | 'image/png'
  bytes: Buffer
}

export interface ServiceBranding extends Branding {
  accents?: Accents | undefined
  /** Undefined for that of Slipway. */
  logo?: Logo | undefined
}
