import type { Branding } from '../../protocol/branding.ts'
import type { Accents } from './accent.ts'

/** The mark of the service. */
export interface Logo {
  type: 'image/svg+xml' | 'image/png'
  bytes: Buffer
}

/** The branding with what browsers get as styles and images. */
export interface ServiceBranding extends Branding {
  /** Undefined for the default colors. */
  accents?: Accents | undefined
  /** Undefined for that of Slipway. */
  logo?: Logo | undefined
}
