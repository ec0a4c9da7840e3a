export const BANNER_LEVELS = ['info', 'warning'] as const
export type BannerLevel = (typeof BANNER_LEVELS)[number]

/** A message of the operator to all users. */
export interface Banner {
  level: BannerLevel
  /** A line of at most `MAX_BANNER_LENGTH` characters. */
  text: string
  /** The page with more about it. */
  link: string | null
}

export const MAX_BANNER_LENGTH = 300

/** Responses of the API have the banner in this header while there is one, for the command line. */
export const BANNER_HEADER = 'X-Slipway-Banner'

/** The value of the header: JSON, with percent-encoding, because a header has no other characters than ASCII. */
export function encodeBanner({ level, text, link }: Banner): string {
  return encodeURIComponent(JSON.stringify({ level, text, link }))
}

/** The banner of a header; undefined for any other value. */
export function decodeBanner(value: string): Banner | undefined {
  try {
    const { level, text, link } = JSON.parse(decodeURIComponent(value)) as Record<keyof Banner, unknown>
    if (typeof text !== 'string') return undefined
    return {
      level: level === 'warning' ? level : 'info',
      text,
      link: typeof link === 'string' ? link : null,
    }
  } catch {
    return undefined
  }
}
