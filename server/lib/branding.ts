import type { Branding } from '../../protocol/branding.ts'
import type { Accents } from './accent.ts'

/** The branding with what browsers get as styles. */
export interface ServiceBranding extends Branding {
  /** Undefined for the default colors. */
  accents?: Accents | undefined
}
