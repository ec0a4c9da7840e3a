import type { ScheduledBanner } from '../../protocol/api/admin/banner.schema.ts'
import type { BannerLevel } from '../../protocol/api/banner.ts'
import { COMMAND_LINE } from '../store/tables/administration.ts'
import { dataAction, runAction } from './actions.ts'
import type { Command } from './command.ts'

const NONE = 'There is no banner.'

const SETTING = { takes: ['level', 'link', 'from', 'until'], operands: ['a text'] } as const

const set = dataAction('banner set', SETTING, async ({ banners }, { value: text, options }) => {
  const { link, from, until } = options
  const level = options.level as BannerLevel | undefined
  const banner = await banners.set(COMMAND_LINE, {
    text,
    ...(level && { level }),
    ...(link && { link }),
    ...(from && { from }),
    ...(until && { until }),
  })
  return [{ banner }, describe(banner)]
})

const show = dataAction('banner show', {}, async ({ banners }) => {
  const banner = await banners.find()
  return [{ banner }, banner ? describe(banner) : NONE]
})

const clear = dataAction('banner clear', {}, async ({ banners }) => {
  await banners.clear(COMMAND_LINE)
  return [{ banner: null }, NONE]
})

export const banner: Command = {
  usage: [
    [
      'banner set TEXT',
      'show a message in the dashboard and on the command line; also --level info|warning, --link URL, --from TIME, --until TIME',
    ],
    ['banner show|clear', 'print the message, or end it'],
  ],
  run: runAction('banner', { set, show, clear }),
}

function describe({ level, text, link, from, until }: ScheduledBanner): string {
  return [
    `${level}: ${text}`,
    ...(link === null ? [] : [`link: ${link}`]),
    `shown from ${from ?? 'now'} until ${until ?? 'it is cleared'}`,
  ].join('\n')
}
