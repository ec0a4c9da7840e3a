import type { FileLimits } from './publish.ts'

/** Settings that the server embeds into its pages: `<meta name="slipway" content="{JSON}">`. */
export interface PageSettings {
  /** `{base_url}`, without a trailing slash. */
  baseUrl: string
  /** Between a slug and the port: `.localhost`. */
  siteDomain: string
  /** Publishing limits without and with an account. */
  anonymous: FileLimits
  owned: FileLimits
  /** Lifetime of a site without an owner in seconds. */
  anonymousLifetime: number
  /** Whether visits are counted. */
  visits: boolean
}
