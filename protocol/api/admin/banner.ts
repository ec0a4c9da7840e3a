import type { Banner } from '../banner.ts'

/** A banner with the times between which it is shown; null without a limit. */
export interface ScheduledBanner extends Banner {
  from: string | null
  until: string | null
}

/** `PUT /api/admin/banner`. */
export type BannerRequest = Pick<ScheduledBanner, 'text'> & Partial<ScheduledBanner>

/** The response of `/api/admin/banner`. */
export interface BannerResponse {
  banner: ScheduledBanner | null
}
