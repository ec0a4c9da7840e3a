import { BANNER_LEVELS, MAX_BANNER_LENGTH } from '../../../../protocol/api/banner.ts'
import { named, nullable, object, type Schema, text, time } from '../schema.ts'

const level: Schema = { type: 'string', enum: BANNER_LEVELS, description: 'The style of the message' }
const content = text('A line of plain text', { minLength: 1, maxLength: MAX_BANNER_LENGTH })
const link = nullable(text('The URL of a page with more about it', { maxLength: 500 }))
const schedule = {
  from: nullable(time('When it begins; null for immediately')),
  until: nullable(time('When it ends; null for never')),
}

export const bannerRequest = named('BannerRequest', object({ text: content }, { level, link, ...schedule }))
export const bannerResponse = named(
  'BannerResponse',
  object({
    banner: {
      ...object({ level, text: content, link, ...schedule }),
      type: ['object', 'null'],
      description: 'Null when none is set',
    },
  }),
)
