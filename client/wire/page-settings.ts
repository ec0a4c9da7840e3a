/** What the server tells its own pages in their head: `<meta name="slipway" content="{JSON}">`. */
export interface PageSettings {
  /** `{base_url}`, without a slash at its end. */
  baseUrl: string
  /** Between a slug and the port: `.localhost`. */
  siteDomain: string
  /** What can be published without an account, and with one. */
  anonymous: PublishLimits
  owned: PublishLimits
  /** Seconds that a site without an owner lasts. */
  anonymousLifetime: number
  /** Whether visits are counted. */
  visits: boolean
}

/** Sizes in bytes. */
export interface PublishLimits {
  files: number
  fileBytes: number
  siteBytes: number
}
