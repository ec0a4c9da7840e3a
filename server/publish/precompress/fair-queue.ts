import { Component } from '../../lib/component.ts'

interface FairQueueOptions {
  /** Maximum number of queued items; further ones are rejected. */
  maxItems: number
  /** Beyond it, a further item of the flow replaces the oldest. */
  maxItemsOfFlow: number
}

/** An empty flow is kept while its virtual time is ahead of the others, until nothing waits. */
interface Flow {
  items: string[]
  /** In virtual time: the flow is served when all others have used as much. */
  start: number
  /** 0 while the cost of its next turn is unknown. */
  nextCost: number
}

export interface Turn {
  flow: string
  item: string
  expectedCost: number
}

/**
 * Shares one worker between flows by start-time fair queueing (Goyal and others, 1996): the next turn goes to the
 * flow that would finish it first if all flows were served concurrently, so flows with little work precede those
 * with much. One turn at a time: `take`, then `finish`.
 */
export class FairQueue extends Component<FairQueueOptions> {
  readonly #flows = new Map<string, Flow>()
  #virtualTime = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Adds an item to the end of its flow, unless it waits there already or the queue is full. */
  add(flow: string, item: string): void {
    const { maxItems, maxItemsOfFlow } = this.parts
    const { items } = this.#getFlow(flow)
    if (items.includes(item)) return
    if (items.length >= maxItemsOfFlow) items.shift()
    else if (this.#size >= maxItems) return
    else this.#size++
    items.push(item)
  }

  take(): Turn | undefined {
    if (this.#size === 0) {
      this.#flows.clear()
      return undefined
    }
    let next: [string, Flow] | undefined
    for (const [name, flow] of this.#flows) {
      if (flow.items.length === 0) {
        if (flow.start <= this.#virtualTime) this.#flows.delete(name)
      } else if (!next || flow.start + flow.nextCost < next[1].start + next[1].nextCost) next = [name, flow]
    }
    const [name, flow] = next!
    this.#virtualTime = Math.max(this.#virtualTime, flow.start)
    this.#size--
    return { flow: name, item: flow.items.shift()!, expectedCost: flow.nextCost }
  }

  /** With `nextCost` the item is not done, and waits for another turn of that cost. */
  finish(
    { flow: name, item }: Turn,
    { cost, nextCost }: { cost: number; nextCost?: number | undefined },
  ): void {
    const flow = this.#getFlow(name)
    flow.start += cost
    flow.nextCost = nextCost ?? 0
    if (nextCost === undefined || flow.items.includes(item)) return
    flow.items.unshift(item)
    this.#size++
  }

  clear(): void {
    this.#flows.clear()
    this.#size = 0
  }

  /** Under a load without an end, each new site would leave a flow. */
  #forgetEmpty(): void {
    for (const [name, { items }] of this.#flows) if (items.length === 0) this.#flows.delete(name)
  }

  #getFlow(name: string): Flow {
    if (this.#flows.size > 2 * this.parts.maxItems) this.#forgetEmpty()
    const flow = this.#flows.get(name) ?? { items: [], start: this.#virtualTime, nextCost: 0 }
    // An idle flow accumulates no credit.
    if (flow.items.length === 0) flow.start = Math.max(flow.start, this.#virtualTime)
    this.#flows.set(name, flow)
    return flow
  }
}
