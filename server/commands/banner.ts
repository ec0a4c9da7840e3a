import type { ScheduledBanner } from '../../protocol/api/admin/banner.schema.ts'
import type { BannerLevel } from '../../protocol/api/banner.ts'
import { COMMAND_LINE } from '../store/tables/administration.ts'
import { type Action, readOptions, runAction } from './actions.ts'
import type { Command } from './command.ts'

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

async function set(...[context, args]: Parameters<Action>): Promise<number> {
  const takes = ['level', 'link', 'from', 'until', 'json'] as const
  const { values, options } = readOptions('banner set', args, { takes, operands: ['a text'] })
  const { link, from, until } = options
  // The service refuses another level.
  const level = options.level as BannerLevel | undefined
  await using data = await context.openData()
  const set = await data.banners.set(COMMAND_LINE, {
    text: values[0]!,
    ...(level && { level }),
    ...(link && { link }),
    ...(from && { from }),
    ...(until && { until }),
  })
  context.print(options.json ? JSON.stringify({ banner: set }) : describe(set))
  return 0
}

async function show(...[context, args]: Parameters<Action>): Promise<number> {
  const { options } = readOptions('banner show', args, { takes: ['json'], operands: [] })
  await using data = await context.openData()
  const found = await data.banners.find()
  context.print(
    options.json ? JSON.stringify({ banner: found }) : found ? describe(found) : 'There is no banner.',
  )
  return 0
}

async function clear(...[context, args]: Parameters<Action>): Promise<number> {
  const { options } = readOptions('banner clear', args, { takes: ['json'], operands: [] })
  await using data = await context.openData()
  await data.banners.clear(COMMAND_LINE)
  context.print(options.json ? JSON.stringify({ banner: null }) : 'There is no banner.')
  return 0
}

function describe({ level, text, link, from, until }: ScheduledBanner): string {
  return [
    `${level}: ${text}`,
    ...(link === null ? [] : [`link: ${link}`]),
    `shown from ${from ?? 'now'} until ${until ?? 'it is cleared'}`,
  ].join('\n')
}
