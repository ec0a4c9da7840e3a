import { useState } from 'preact/hooks'
import type { BlockKind, BlockRecord, BlockRequest } from '../../protocol/api/admin/moderation.schema.ts'
import { MAX_REASON_LENGTH } from '../../protocol/api/admin/moderation.ts'
import { formatNumber } from '../../protocol/format.ts'
import { useAction } from '../api/action.ts'
import { useResource } from '../api/resource.ts'
import { serverNow } from '../api/server-clock.ts'
import { Button } from '../kit/button.tsx'
import { Confirm } from '../kit/dialog.tsx'
import { Choice, Switch, TextArea, TextField } from '../kit/field.tsx'
import { ErrorNotice } from '../kit/notice.tsx'
import { Empty } from '../kit/panel.tsx'
import { Loading } from '../kit/skeleton.tsx'
import { RelativeTime, TimeLeft } from '../kit/time.tsx'
import { showToast } from '../kit/toast.tsx'
import { changeAdmin, readAdmin } from './admin-client.ts'
import { undo } from './moderation-target.ts'
import { type Column, RecordTable } from './record-table.tsx'
import { type RowAction, RowMenu } from './row-menu.tsx'

/** Blocks that are shown; a search finds the others. */
const MAX_SHOWN = 200

const KINDS: Record<BlockKind, string> = { network: 'Network', hash: 'File' }

const COLUMNS: readonly Column<BlockRecord>[] = [
  {
    name: 'Blocked',
    show: ({ kind, value }) => (
      <>
        <code>{value}</code>
        <div class="quiet small">{KINDS[kind]}</div>
      </>
    ),
  },
  { name: 'Reason', show: ({ reason }) => <bdi>{reason}</bdi> },
  { name: 'Since', show: ({ createdAt }) => <RelativeTime at={createdAt} /> },
  {
    name: 'Ends',
    show: ({ expiresAt }) =>
      expiresAt ? (
        <>
          In <TimeLeft until={expiresAt} over="a moment" />
        </>
      ) : (
        <span class="quiet">Never</span>
      ),
  },
]

const ACTIONS: readonly RowAction<BlockRecord>[] = [
  {
    name: 'Who blocked it',
    icon: 'clock',
    href: ({ value }) => `/admin/audit?q=${encodeURIComponent(value)}`,
  },
  { name: 'End block', icon: 'restore', Dialog: EndBlock },
]

/** Networks that cannot publish, and files that no site can have. */
export function BlocksView() {
  const list = useResource('admin/blocks', () => readAdmin('listBlocks'))
  const [isAdding, setAdding] = useState(false)
  const { value, error, reload, refresh } = list
  return (
    <div class="stack">
      <p class="quiet">
        Callers of a blocked network cannot use the API or publish; visits are not affected. A blocked file is
        served nowhere, and no one can publish it again.
      </p>
      <p>
        <Button variant="main" icon="lock" onClick={() => setAdding(true)}>
          Block a network or a file
        </Button>
      </p>
      <ErrorNotice error={error} onRetry={reload} />
      {!value && !error && <Loading what="the blocks" />}
      {value && <Blocks blocks={value.blocks} onChanged={refresh} />}
      {isAdding && <AddBlock onChanged={refresh} onClose={() => setAdding(false)} />}
    </div>
  )
}

function Blocks({ blocks, onChanged }: { blocks: readonly BlockRecord[]; onChanged: () => Promise<void> }) {
  const [typed, type] = useState('')
  const text = typed.trim().toLowerCase()
  const found = blocks.filter((block) => `${block.value} ${block.reason}`.toLowerCase().includes(text))
  if (blocks.length === 0) return <Empty title="Nothing is blocked" />
  return (
    <>
      <TextField
        label="Search"
        type="search"
        placeholder="Part of a network, a SHA-256 or a reason"
        value={typed}
        onWrite={type}
        hint={
          found.length > MAX_SHOWN
            ? `The first ${MAX_SHOWN} of ${formatNumber(found.length)} are shown.`
            : undefined
        }
      />
      {found.length === 0 && <Empty title={`Nothing found for "${typed.trim()}"`} />}
      {found.length > 0 && (
        <RecordTable
          label="blocks"
          columns={COLUMNS}
          rows={found.slice(0, MAX_SHOWN)}
          keyOf={({ kind, value }) => `${kind} ${value}`}
          menu={(block) => <RowMenu row={block} name={block.value} actions={ACTIONS} onChanged={onChanged} />}
        />
      )}
    </>
  )
}

interface EndBlockProps {
  row: BlockRecord
  onChanged: () => Promise<void>
  onClose: () => void
}

function EndBlock({ row, onChanged, onClose }: EndBlockProps) {
  const { value, reason } = row
  const end = useAction(async () => {
    await removeBlock(row, onChanged)
    onClose()
    showToast(`${value} is not blocked.`, () => undo(() => restoreBlock(row, onChanged)))
  })
  return (
    <Confirm
      title={`End the block of ${value}?`}
      verb="End block"
      variant="main"
      action={end}
      onClose={onClose}
    >
      <p>Blocked because: {reason}</p>
    </Confirm>
  )
}

const LIFETIMES = [
  { value: '', name: 'Never' },
  { value: '3600', name: 'In an hour' },
  { value: '86400', name: 'In a day' },
  { value: '604800', name: 'In a week' },
  { value: '2592000', name: 'In 30 days' },
]

function AddBlock({ onChanged, onClose }: { onChanged: () => Promise<void>; onClose: () => void }) {
  const [kind, setKind] = useState<BlockKind>('network')
  const [value, setValue] = useState('')
  const [reason, setReason] = useState('')
  const [seconds, setSeconds] = useState('')
  const [force, setForce] = useState(false)
  const add = useAction(async () => {
    const request: BlockRequest = {
      ...{ kind, value: value.trim(), reason: reason.trim() },
      ...(seconds && { seconds: Number(seconds) }),
      ...(force && { force }),
    }
    await addBlock(request, onChanged)
    onClose()
  })
  const write = (text: string) => {
    setValue(text)
    setForce(false)
    add.clear()
  }
  const isOwnNetwork = kind === 'network' && (force || add.error?.fields.value?.includes('force'))
  return (
    <Confirm
      title="Block a network or a file"
      verb="Block"
      action={add}
      ready={value.trim() !== '' && reason.trim() !== ''}
      onClose={onClose}
    >
      <WhatToBlock
        kind={kind}
        value={value}
        onChoose={(chosen) => {
          setKind(chosen)
          write('')
        }}
        onWrite={write}
      />
      <TextArea
        label="Reason"
        hint="For administrators."
        maxLength={MAX_REASON_LENGTH}
        value={reason}
        onWrite={setReason}
      />
      <Choice label="Ends" value={seconds} choices={LIFETIMES} onChoose={setSeconds} />
      {isOwnNetwork && (
        <Switch
          label="Block it anyway"
          hint="It contains your own address, or local addresses such as those of proxies. You can still use the administration from there."
          on={force}
          onSwitch={setForce}
        />
      )}
    </Confirm>
  )
}

interface WhatToBlockProps {
  kind: BlockKind
  value: string
  onChoose: (kind: BlockKind) => void
  onWrite: (value: string) => void
}

function WhatToBlock({ kind, value, onChoose, onWrite }: WhatToBlockProps) {
  const isNetwork = kind === 'network'
  return (
    <>
      <Choice
        label="What"
        value={kind}
        choices={[
          { value: 'network', name: 'A network of callers' },
          { value: 'hash', name: 'A file, in all sites' },
        ]}
        onChoose={(chosen) => onChoose(chosen as BlockKind)}
      />
      <TextField
        label={isNetwork ? 'Network' : 'SHA-256 of the file'}
        placeholder={isNetwork ? '192.0.2.0/24' : '64 hexadecimal characters'}
        hint={isNetwork && 'An address, or a network: IPv4 from /8, IPv6 from /32.'}
        autocapitalize="none"
        autocomplete="off"
        value={value}
        onWrite={onWrite}
      />
    </>
  )
}

async function addBlock(request: BlockRequest, onChanged: () => Promise<void>): Promise<void> {
  const block = await changeAdmin('addBlock', { json: request })
  await onChanged()
  const end = async () => {
    await removeBlock(block, onChanged)
    showToast(`${block.value} is not blocked.`)
  }
  showToast(`${block.value} is blocked.`, () => undo(end))
}

async function removeBlock({ kind, value }: BlockRecord, onChanged: () => Promise<void>): Promise<void> {
  await changeAdmin('removeBlock', { json: { kind, value } })
  await onChanged()
}

/** The block as it was, with the time that was left. The administrator has confirmed its network before. */
async function restoreBlock(
  { kind, value, reason, expiresAt }: BlockRecord,
  onChanged: () => Promise<void>,
): Promise<void> {
  const left = expiresAt && Math.ceil((Date.parse(expiresAt) - serverNow()) / 1000)
  const seconds = left !== null && left !== '' ? { seconds: Math.max(60, left) } : {}
  await changeAdmin('addBlock', { json: { kind, value, reason, force: true, ...seconds } })
  await onChanged()
  showToast(`${value} is blocked.`)
}
