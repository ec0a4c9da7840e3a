import type { CommandContext } from './command.ts'

/** What to do about a name that is not available, as hints. */
export async function suggestName(
  { connect }: CommandContext,
  { server, key }: { server: string; key: string | undefined },
  name: string,
): Promise<string[]> {
  const role = await connect(server, key)
    .details(name)
    .then(
      (site) => site.role,
      () => undefined,
    )
  return role === 'owner'
    ? [`It is your site: update it with --site ${name}`]
    : ['Choose another name with --name.']
}
