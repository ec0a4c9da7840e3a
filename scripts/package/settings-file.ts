import { describeSettings } from '../../server/config/settings.ts'

const WIDTH = 100

/** A file with every setting, commented, with its meaning. Node and systemd read it alike when values with # are quoted. */
export function createSettingsFile(): string {
  const rows = describeSettings().flatMap(({ name, defaultValue, description }) => [
    ...wrap(description.replaceAll('`', '')),
    `#${name}=${quote(defaultValue)}`,
    '',
  ])
  return [
    '# The settings of Slipway. Remove the # before a name to set it, then: systemctl restart slipway',
    "# Quote a value with spaces or #: NAME='value'. slipway-server check tells whether all will work.",
    '',
    ...rows,
  ].join('\n')
}

function quote(value: string): string {
  return /[\s#]/.test(value) ? `'${value}'` : value
}

function wrap(text: string): string[] {
  const lines = ['#']
  for (const word of text.split(' ')) {
    if (`${lines.at(-1)} ${word}`.length > WIDTH) lines.push('#')
    lines[lines.length - 1] += ` ${word}`
  }
  return lines
}
