import { pluralize, stripControlChars } from '../../protocol/format.ts'
import { describeSettings } from '../config/settings.ts'
import { type Action, readOptions, runAction } from './actions.ts'
import type { Command, CommandContext } from './command.ts'

export const settings: Command = {
  usage: [
    ['settings', 'list the settings (environment variables)'],
    [
      'settings share',
      'make this secret, base URL and domains those of all nodes; with --discard-lost-keys also when the former secret is lost: certificates are then ordered again',
    ],
  ],
  async run(context, args) {
    if (args.length > 0) return runAction('settings', { share })(context, args)
    listSettings(context)
    return 0
  },
}

function listSettings(context: CommandContext): void {
  const rows = describeSettings(context.environment.env).map(({ name, defaultValue, value, description }) =>
    [name, defaultValue, value, description].map((cell) => stripControlChars(cell) || '-'),
  )
  const table = [['NAME', 'DEFAULT', 'VALUE', 'MEANING'], ...rows]
  const widths = [0, 1, 2].map((column) => Math.max(...table.map((row) => row[column]!.length)))
  for (const row of table)
    context.print(row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
}

const share: Action = async (context, args) => {
  const { options } = readOptions('settings share', args, { takes: ['discard-lost-keys'], operands: [] })
  const { 'discard-lost-keys': discardsLostKeys = false } = options
  await using data = await context.openData('none')
  const { encrypted, discarded } = await data.shareSettings({ discardsLostKeys })
  if (context.config.databaseUrl !== '')
    context.print(
      'The secret, base URL and domains of this machine are those of all nodes now. Nodes with others do not start.',
    )
  context.print(`${pluralize(encrypted, 'key')} encrypted with this secret.`)
  if (discardsLostKeys)
    context.print(
      `${pluralize(discarded, 'key')} of a lost secret discarded. Their certificates are ordered again, within the limits of the CA.`,
    )
  return 0
}
