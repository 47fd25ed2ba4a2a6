import { element, part, svg } from './element.ts';
import { type LaidColumn, layOut, type Mark, outline, type PictureLayout } from './model/picture-layout.ts';
import { countStates, type MarkState, type PageBlock, type PageWindow, secondsLeft } from './model/window.ts';
import { count, counted, duration, SHOWN_STATES, STATE_WORDS } from './model/words.ts';

/**
 * The window as a picture, which is also a slider over the blocks: keys, clicks and touches choose a block. Screen
 * readers hear the choice. Without a choice the newest block stays chosen.
 */
export class Picture {
  readonly #stage = part('picture', HTMLDivElement);
  readonly #slider = part('blocks', HTMLInputElement);
  /** Element with the number of blocks that do not fit the picture. */
  readonly #hidden = part('not-drawn', HTMLSpanElement);
  readonly #choose: (block: PageBlock | null) => void;
  #window: PageWindow | null = null;
  #layout: PictureLayout | null = null;
  /** Height of the chosen block; null to follow the newest block. */
  #chosen: number | null = null;

  constructor(choose: (block: PageBlock | null) => void) {
    this.#choose = choose;
    const [stage, slider] = [this.#stage, this.#slider];
    new ResizeObserver(() => this.#draw()).observe(stage);
    slider.addEventListener('input', () => this.#take(Number(slider.value)));
    stage.addEventListener('pointerdown', (event) => this.#point(event));
    stage.addEventListener('pointermove', (event) => {
      if (event.buttons === 1) this.#point(event);
    });
  }

  show(window: PageWindow): void {
    this.#window = window;
    this.#draw();
    this.#tell();
  }

  get #blocks(): readonly PageBlock[] {
    return this.#window?.blocks ?? [];
  }

  get #block(): PageBlock | null {
    return this.#blocks.find(({ height }) => height === this.#chosen) ?? this.#blocks.at(-1) ?? null;
  }

  #point(event: PointerEvent): void {
    const x = event.clientX - this.#stage.getBoundingClientRect().left;
    const drawn = (this.#layout?.columns ?? []).flatMap(({ block, ...place }) =>
      block === null ? [] : [{ block, ...place }],
    );
    const nearest = drawn.find((column) => x < column.x + column.width) ?? drawn.at(-1);
    if (nearest !== undefined) this.#take(nearest.block.height);
  }

  #take(height: number): void {
    // Choosing the newest block means following the newest one.
    this.#chosen = height === this.#blocks.at(-1)?.height ? null : height;
    this.#draw();
    this.#tell();
  }

  #tell(): void {
    const block = this.#block;
    const slider = this.#slider;
    slider.min = String(this.#blocks.at(0)?.height ?? 0);
    slider.max = String(this.#blocks.at(-1)?.height ?? 0);
    slider.value = String(block?.height ?? 0);
    const window = this.#window;
    const words = block === null || window === null ? 'no block yet' : describeBlock(window, block);
    slider.setAttribute('aria-valuetext', words);
    if (window !== null) this.#stage.setAttribute('aria-label', describeWindow(window));
    this.#choose(block);
  }

  #draw(): void {
    const { clientWidth, clientHeight } = this.#stage;
    if (this.#window === null || clientWidth === 0) return;
    const layout = layOut(this.#window, clientWidth, clientHeight);
    this.#layout = layout;
    const image = svg(
      'svg',
      {
        width: clientWidth,
        height: clientHeight,
        viewBox: `0 0 ${clientWidth} ${clientHeight}`,
        'aria-hidden': 'true',
      },
      ...background(layout),
      ...layout.columns.flatMap((column) => this.#column(column, layout)),
      ...slackLine(layout),
      // Marks that need attention are drawn last, above all others.
      ...layout.columns.flatMap(({ marks }) => markPaths(marks.filter(({ state }) => !isCalm(state)))),
      ...foreground(layout),
    );
    this.#stage.replaceChildren(image);
    this.#tellHidden(layout.hidden);
  }

  #tellHidden(hidden: number): void {
    this.#hidden.textContent =
      hidden === 0
        ? ''
        : `${counted(hidden, 'older block is', 'older blocks are')} not drawn; the verdict counts them.`;
  }

  #column(column: LaidColumn, { plotTop, plotBottom }: PictureLayout): SVGElement[] {
    const { block, x, width } = column;
    const drawn: SVGElement[] = [];
    if (block !== null && block.height === this.#block?.height) {
      const place = { x, y: plotTop, width, height: plotBottom - plotTop + 6 };
      drawn.push(svg('rect', { class: 'chosen', 'data-height': block.height, ...place }));
    }
    drawn.push(...markPaths(column.marks.filter(({ state }) => isCalm(state))));
    const middle = x + width / 2;
    if (column.hasMore) {
      drawn.push(svg('text', { class: 'more', x: middle, y: plotTop + 8, 'text-anchor': 'middle' }, '+'));
    }
    if (column.isAlarming) {
      const points = `${middle},${plotBottom + 3} ${middle - 5},${plotBottom + 12} ${middle + 5},${plotBottom + 12}`;
      drawn.push(svg('polygon', { class: 'flag', points }));
    }
    return drawn;
  }
}

function background({ plotTop, plotBottom, plotLeft, plotRight, hours, prunedX }: PictureLayout): SVGElement[] {
  const pruned =
    prunedX === null
      ? []
      : [
          svg('rect', {
            class: 'pruned',
            x: plotLeft,
            y: plotTop,
            width: prunedX - plotLeft,
            height: plotBottom - plotTop,
          }),
        ];
  return [
    ...pruned,
    ...hours.flatMap(({ label, y }) => [
      svg('line', { class: 'grid', x1: plotLeft, x2: plotRight, y1: y, y2: y }),
      svg('text', { class: 'label', x: plotRight + 6, y: y + 4 }, label),
    ]),
  ];
}

/** Returns one path for each state, which holds all marks of a column in that state. */
function markPaths(marks: readonly Mark[]): SVGElement[] {
  return [...Map.groupBy(marks, ({ state }) => state)].map(([state, same]) =>
    svg('path', { class: `mark ${state}`, 'data-count': same.length, d: same.map(outline).join('') }),
  );
}

/** Nothing of these is to be done. */
const SET_ASIDE: readonly MarkState[] = ['withheld', 'not-archived-by-rule'];

function isCalm(state: MarkState): boolean {
  return state === 'final' || state === 'stored' || state === 'spooled' || SET_ASIDE.includes(state);
}

function slackLine({ slack }: PictureLayout): SVGElement[] {
  const points = slack.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ');
  return [svg('polyline', { class: 'halo', points }), svg('polyline', { class: 'slack', points })];
}

function foreground({ plotTop, plotBottom, heights, urgent, plotRight }: PictureLayout): SVGElement[] {
  const side = urgent !== null && urgent.x > plotRight / 2 ? 'end' : 'start';
  return [
    ...heights.map(({ label, x }) =>
      svg('text', { class: 'label', x, y: plotBottom + 24, 'text-anchor': 'middle' }, label),
    ),
    ...(urgent === null
      ? []
      : [
          svg('line', { class: 'urgent', x1: urgent.x, x2: urgent.x, y1: plotTop, y2: plotBottom }),
          svg(
            'text',
            { class: 'urgent-label', x: urgent.x + (side === 'end' ? -5 : 5), y: plotTop - 5, 'text-anchor': side },
            urgent.secondsLeft > 0 ? `${duration(urgent.secondsLeft)} left` : 'overdue',
          ),
        ]),
  ];
}

/** One sentence for screen readers that describes the whole picture. */
function describeWindow({ blocks, waiting }: PageWindow): string {
  const states = [...countStates(blocks)].map(([state, many]) => `${count(many)} ${STATE_WORDS[state]}`);
  const blobs = states.length === 0 ? 'no blobs' : states.join(', ');
  return `The window as a picture: ${counted(blocks.length, 'block')}; ${blobs}; ${count(waiting.blobs.length)} waiting for a block. The table below says the same.`;
}

/** One sentence that describes a block. */
export function describeBlock(window: PageWindow, block: PageBlock): string {
  const left = secondsLeft(window, block);
  const states = [...countStates([block])].map(([state, many]) => `${many} ${STATE_WORDS[state]}`).join(', ');
  const blobs = block.blobs.length === 0 ? 'no blobs' : `${counted(block.blobs.length, 'blob')}: ${states}`;
  const more = block.hasMore ? ', and more that are not shown' : '';
  const time = left >= 0 ? `${duration(left)} left` : 'past its deadline';
  return `Block ${count(block.height)}, ${block.isFinal ? 'final' : 'not final yet'}, ${blobs}${more}, ${time}`;
}

/** The legend of shapes and colours. */
export function legend(): HTMLElement[] {
  return [
    ...SHOWN_STATES.map((state) => {
      const place = { state, x: 2, y: 2, width: 10, height: 10 };
      const image = svg(
        'svg',
        { width: 14, height: 14, 'aria-hidden': 'true' },
        svg('path', { class: `mark ${state}`, d: outline(place) }),
      );
      return element('li', {}, image, STATE_WORDS[state]);
    }),
    element(
      'li',
      {},
      svg(
        'svg',
        { width: 22, height: 14, 'aria-hidden': 'true' },
        svg('polyline', { class: 'slack', points: '1,12 21,2' }),
      ),
      'time until the node may prune',
    ),
  ];
}
