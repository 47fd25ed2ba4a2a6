const LOOKS = ['auto', 'light', 'dark'] as const;
type Look = (typeof LOOKS)[number];

const KEY = 'holdfast-look';
const WORDS: Readonly<Record<Look, string>> = { auto: 'Look: automatic', light: 'Look: light', dark: 'Look: dark' };

/** As the system has it, unless the reader chose; the choice is kept on this machine. */
export function offerLooks(button: HTMLButtonElement): void {
  let look = remembered();
  const show = () => {
    document.documentElement.dataset['look'] = look;
    button.textContent = WORDS[look];
  };
  button.addEventListener('click', () => {
    look = LOOKS[(LOOKS.indexOf(look) + 1) % LOOKS.length] ?? 'auto';
    remember(look);
    show();
  });
  show();
}

function remembered(): Look {
  try {
    const kept = localStorage.getItem(KEY);
    return LOOKS.find((look) => look === kept) ?? 'auto';
  } catch {
    return 'auto';
  }
}

function remember(look: Look): void {
  try {
    localStorage.setItem(KEY, look);
  } catch {
    // Storage can be forbidden; the look then lasts as long as the page.
  }
}
