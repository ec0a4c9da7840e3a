import { readOptions } from './actions.ts'
import { type Command, type CommandContext, UsageError } from './command.ts'

export const sweep: Command = {
  usage: [['sweep NAME|all', 'run one sweep now, or all of them']],
  run: runSweeps,
}

export const sweeps: Command = {
  usage: [['sweeps', 'list the sweeps']],
  run: listSweeps,
}

async function runSweeps(context: CommandContext, args: string[]): Promise<number> {
  const [name] = readOptions('sweep', args, { takes: [], operands: ['the name of a sweep or all'] }).values
  const { sweeps } = await import('../jobs/jobs.ts')
  const { runByHand } = await import('../jobs/scheduler.ts')
  const chosen = sweeps.filter((one) => name === 'all' || one.name === name)
  if (chosen.length === 0)
    throw new UsageError(
      `Unknown sweep: ${name}. Use one of ${sweeps.map((one) => one.name).join(', ')}, all.`,
    )
  await using data = await context.openData('all')
  const errors: Error[] = []
  for (const one of chosen) {
    const count = await runByHand(one, data, name !== 'all').catch((error: Error) => void errors.push(error))
    context.print(`${one.name}: ${count ?? `failed: ${errors.at(-1)?.message}`}`)
  }
  if (errors.length > 0) throw errors[0]
  return 0
}

async function listSweeps(context: CommandContext): Promise<number> {
  const { sweeps } = await import('../jobs/jobs.ts')
  for (const one of sweeps)
    context.print(
      `${one.name.padEnd(16)} every ${String(one.intervalSeconds).padStart(5)} s  ${one.description}`,
    )
  return 0
}
