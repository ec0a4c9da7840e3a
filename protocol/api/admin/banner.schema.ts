import { BANNER_LEVELS, MAX_BANNER_LENGTH } from '../banner.ts'
import { named, nullable, object, type Static, text, time } from '../schema.ts'

const level = text('The style of the message', { enum: BANNER_LEVELS })
const content = text('A line of plain text', { minLength: 1, maxLength: MAX_BANNER_LENGTH })
const link = nullable(text('The URL of a page with more about it', { maxLength: 500 }))
const schedule = {
  from: nullable(time('When it begins; null for immediately')),
  until: nullable(time('When it ends; null for never')),
}

/** A banner with the times between which it is shown. */
const banner = object({ level, text: content, link, ...schedule })
export type ScheduledBanner = Static<typeof banner>

export const bannerRequest = named('BannerRequest', { text: content }, { level, link, ...schedule })
export type BannerRequest = Static<typeof bannerRequest>

export const bannerResponse = named('BannerResponse', {
  banner: nullable(banner, 'Null when none is set'),
})
export type BannerResponse = Static<typeof bannerResponse>
